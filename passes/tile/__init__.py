"""Define the passes of the tiled level, between hlo and nc, each imported on first use."""

from neuronir.passes.lazy import lazy

PASSES = lazy(
    __name__,
    {
        "tile-expand-composites": ("expand_composites", "TileExpandCompositesPass"),
        "tile-split-softmax": ("split_softmax", "TileSplitSoftmaxPass"),
        "tile-pad-axes": ("pad_axes", "TilePadAxesPass"),
        "tile-fuse": ("fuse", "TileFusePass"),
        "tile-assign-layouts": ("assign_layouts", "TileAssignLayoutsPass"),
        "lower-tile-to-nc": ("lower_tile_to_nc", "LowerTileToNcPass"),
    },
)
