"""hlo-assign-layouts: attributes on the ops, and what other parts of the lowering do with them."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from neuronir.dialects.hlo.linear import DotOp
from neuronir.passes.lowering.assign_layouts import HloAssignLayoutsPass
from neuronir.passes.lowering.layers.repetition import find_repetitions
from neuronir.passes.lowering.products.assigned import (
    ASSIGNED,
    PARTITION_DIM,
    STATIONARY,
    assign_stationary,
    stationary_of,
)
from neuronir.passes.lowering.streaming.dims import tiled_copy
from tests.lowering.helpers import at_hlo, entry
from tests.norms import pre_norm

LAYERS = 5


def _chain() -> str:
    """Products of a parameter each, one after the other."""
    lines = ["x0 = f32[64,64] parameter(0)"]
    for i in range(LAYERS):
        lines += [
            f"w{i} = f32[64,64] parameter({i + 1})",
            f"d{i} = f32[64,64] dot(x{i}, w{i}), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={0}",
            f"t{i} = f32[64,64] tanh(d{i})",
            f"n{i} = f32[64,64] negate(t{i})",
            f"x{i + 1} = f32[64,64] exponential(n{i})",
        ]
    return entry(*lines)


def _block(module: ModuleOp) -> Block:
    (main,) = (op for op in module.ops if isinstance(op, FuncOp))
    return main.body.block


def _dots(block: Block) -> list[DotOp]:
    return [op for op in block.ops if isinstance(op, DotOp)]


def _assigned(block: Block) -> list[Operation]:
    return [op for op in block.ops if any(name in op.attributes for name in ASSIGNED)]


def test_made_anew() -> None:
    """What an earlier run has chosen, for other options, does not stay."""
    module = at_hlo(pre_norm(144, 128, layers=2, hidden=1024))
    HloAssignLayoutsPass(target="trn1").apply(Context(), module)
    found = _assigned(_block(module))
    assert {name for op in found for name in op.attributes} >= {STATIONARY, PARTITION_DIM}
    HloAssignLayoutsPass(target="trn1").apply(Context(), module)
    assert _assigned(_block(module)) == found
    HloAssignLayoutsPass(target="trn1", norms=False, products=False).apply(Context(), module)
    assert not _assigned(_block(module))


def test_without_a_machine_nothing_is_assigned() -> None:
    module = at_hlo(pre_norm(144, 128, layers=2, hidden=1024))
    HloAssignLayoutsPass(norms=False, products=False).apply(Context(), module)
    module.attributes.pop("nc.machine", None)
    HloAssignLayoutsPass().apply(Context(), module)
    assert not _assigned(_block(module))


def test_layers_that_are_assigned_alike_repeat() -> None:
    block = _block(at_hlo(_chain()))
    for dot in _dots(block):
        assign_stationary(dot, 1)
    (found,) = find_repetitions(block)
    assert len(found.layers) == LAYERS


def test_a_layer_that_is_assigned_otherwise_is_apart() -> None:
    block = _block(at_hlo(_chain()))
    for dot in _dots(block):
        assign_stationary(dot, int(dot is not _dots(block)[-1]))
    (found,) = find_repetitions(block)
    assert len(found.layers) == LAYERS - 1
    assert _dots(block)[-1] not in found.layers[-1]


def test_tiles_are_not_assigned() -> None:
    block = _block(at_hlo(_chain()))
    (dot, *_) = _dots(block)
    assign_stationary(dot, 0)
    tiling = {dot.operands[0]: 0, dot.results[0]: 0}
    copy = tiled_copy(dot, tiling, 16, {})
    assert isinstance(copy, DotOp)
    assert stationary_of(dot) == 0 and stationary_of(copy) is None
