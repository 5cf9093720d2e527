"""Lower hlo to nc."""

from collections.abc import Callable

from xdsl.passes import ModulePass


def _lower_hlo_to_nc() -> type[ModulePass]:
    from neuronir.passes.lowering.lower_hlo_to_nc import LowerHloToNcPass

    return LowerHloToNcPass


def _hlo_assign_layouts() -> type[ModulePass]:
    from neuronir.passes.lowering.assign_layouts import HloAssignLayoutsPass

    return HloAssignLayoutsPass


def _hlo_choose_blocks() -> type[ModulePass]:
    from neuronir.passes.lowering.choose_blocks import HloChooseBlocksPass

    return HloChooseBlocksPass


def _hlo_split_batch() -> type[ModulePass]:
    from neuronir.passes.lowering.batch.split_batch import HloSplitBatchPass

    return HloSplitBatchPass


def _hlo_split_attention() -> type[ModulePass]:
    from neuronir.passes.lowering.batch.split_attention import HloSplitAttentionPass

    return HloSplitAttentionPass


def _hlo_split_hidden() -> type[ModulePass]:
    from neuronir.passes.lowering.batch.split_hidden import HloSplitHiddenPass

    return HloSplitHiddenPass


def _hlo_tile_batch() -> type[ModulePass]:
    from neuronir.passes.lowering.batch.tile_batch import HloTileBatchPass

    return HloTileBatchPass


def _hlo_tile_rows() -> type[ModulePass]:
    from neuronir.passes.lowering.batch.tile_rows import HloTileRowsPass

    return HloTileRowsPass


PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "hlo-assign-layouts": _hlo_assign_layouts,
    "hlo-choose-blocks": _hlo_choose_blocks,
    "hlo-split-attention": _hlo_split_attention,
    "hlo-split-batch": _hlo_split_batch,
    "hlo-split-hidden": _hlo_split_hidden,
    "hlo-tile-batch": _hlo_tile_batch,
    "hlo-tile-rows": _hlo_tile_rows,
    "lower-hlo-to-nc": _lower_hlo_to_nc,
}
