"""hlo-choose-blocks: what is noted of products, and read again when they are lowered."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from neuronir.dialects.hlo.linear import DotOp
from neuronir.passes.lowering.choose_blocks import HloChooseBlocksPass
from neuronir.passes.lowering.products.assigned import BLOCKS
from neuronir.passes.lowering.products.block_attribute import blockable, pinned_tiles, plan_of
from neuronir.passes.lowering.products.matrices import problem_of
from neuronir.passes.lowering.products.search import choose
from neuronir.passes.lowering.streaming.dims import tiled_copy
from neuronir.targets.trn1.machine import TRN1
from tests.lowering.helpers import at_hlo, entry
from tests.lowering.test_blocked import text


def _dots(module: ModuleOp) -> list[DotOp]:
    (main,) = (op for op in module.ops if isinstance(op, FuncOp))
    return [op for op in main.body.block.ops if isinstance(op, DotOp)]


def _chosen(text: str, tiles: str = "") -> list[DotOp]:
    module = at_hlo(text)
    HloChooseBlocksPass(target="trn1", tiles=tiles).apply(Context(), module)
    return _dots(module)


@pytest.mark.parametrize(
    ("m", "k", "n", "left", "right"),
    [
        (2048, 2048, 2048, False, False),  # one step: the panel stays, and some of it begins
        (4096, 8192, 8192, False, False),
        (1000, 531, 1400, True, False),
        (300, 500, 700, True, True),
        (384, 4096, 200, False, True),
    ],
)
def test_what_is_noted_is_what_was_found(m: int, k: int, n: int, left: bool, right: bool) -> None:
    (dot,) = _chosen(text(m, k, n, "bf16", left, right))
    problem = problem_of(dot)
    found = choose(problem, TRN1)
    assert blockable(dot, TRN1)
    assert plan_of(dot, problem.transposed, TRN1) == found


def test_operands_that_lie_otherwise_are_searched_for_again() -> None:
    (dot,) = _chosen(text(2048, 2048, 2048, "bf16", False, False))
    assert problem_of(dot).transposed == (True, False)
    plan = plan_of(dot, (False, False), TRN1)
    assert plan == choose(problem_of(dot, (False, False)), TRN1) and plan.shared == 0


def test_tiles_of_the_user_stay() -> None:
    (dot,) = _chosen(text(1024, 1024, 1024, "bf16", False, False), "2x4x1")
    assert pinned_tiles(dot) == (2, 4, 1)
    assert plan_of(dot, (True, False), TRN1).tiles == (2, 4, 1)
    assert plan_of(dot, (False, False), TRN1).tiles == (2, 4, 1)


def test_small_products_between_others_are_left() -> None:
    """They never go block by block, as all of them is on the chip."""
    (dot,) = _chosen(
        entry(
            "x = f32[128,512] parameter(0)",
            "w = f32[512,256] parameter(1)",
            "d = f32[128,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            "r = f32[128,256] tanh(d)",
        )
    )
    assert not blockable(dot, TRN1)


def test_made_anew_and_not_for_tiles() -> None:
    module = at_hlo(text(1024, 1024, 1024, "bf16", False, False))
    for tiles in ("2x4x1", "", "7x7x7"):  # there are no even shares of seven
        HloChooseBlocksPass(target="trn1", tiles=tiles).apply(Context(), module)
        (dot,) = _dots(module)
        assert blockable(dot, TRN1) == (tiles != "7x7x7")
        if tiles == "":
            assert pinned_tiles(dot) is None
            copy = tiled_copy(dot, {dot.operands[0]: 0, dot.results[0]: 0}, 128, {})
            assert BLOCKS not in copy.attributes
