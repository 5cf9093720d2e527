"""Lower hlo to nc."""

from neuronir.passes.lazy import lazy

PASSES = lazy(
    __name__,
    {
        "hlo-assign-layouts": ("assign_layouts", "HloAssignLayoutsPass"),
        "hlo-choose-blocks": ("choose_blocks", "HloChooseBlocksPass"),
        "hlo-split-attention": ("batch.split_attention", "HloSplitAttentionPass"),
        "hlo-split-batch": ("batch.split_batch", "HloSplitBatchPass"),
        "hlo-split-hidden": ("batch.split_hidden", "HloSplitHiddenPass"),
        "hlo-tile-batch": ("batch.tile_batch", "HloTileBatchPass"),
        "hlo-tile-rows": ("batch.tile_rows", "HloTileRowsPass"),
        "lower-hlo-to-nc": ("lower_hlo_to_nc", "LowerHloToNcPass"),
    },
)
