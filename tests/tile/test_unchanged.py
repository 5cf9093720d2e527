"""What is memoised while ops do not change follows those that do."""

from xdsl.dialects.builtin import UnitAttr

from neuronir.dialects.hlo.unary import ExponentialOp
from neuronir.dialects.support.unchanged import forget, unchanged_ops
from neuronir.driver.weights import entry_function
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.tile.layouts.values import Values
from neuronir.passes.tile.whole import MARK, tiled
from neuronir.targets.registry import get_target

TEXT = """HloModule m

ENTRY e {
  x = f32[64,32] parameter(0)
  a = f32[64,32] exponential(x)
  t = f32[32,64] transpose(a), dimensions={1,0}
  ROOT r = (f32[32,64]) tuple(t)
}
"""
MODULE = import_hlo_text(TEXT, "m.hlo")
MACHINE = get_target("trn1").machine


def test_a_changed_op_is_forgotten() -> None:
    exponential = next(op for op in MODULE.clone().walk() if isinstance(op, ExponentialOp))
    with unchanged_ops():
        assert tiled(exponential) is not None
        exponential.attributes[MARK] = UnitAttr()
        assert tiled(exponential) is not None  # as it was
        forget(exponential)
        assert tiled(exponential) is None
    exponential.attributes.pop(MARK)
    assert tiled(exponential) is not None


def test_an_op_that_is_lowered_whole_moves_to_hbm() -> None:
    block = entry_function(MODULE.clone()).body.block
    exponential = next(op for op in block.ops if isinstance(op, ExponentialOp))
    values = Values(block, MACHINE)
    (made,) = exponential.results
    with unchanged_ops(), values.remembered():
        assert not values.in_hbm(made)
        assert tiled(exponential) is not None
        values.lower_whole(exponential)
        assert values.in_hbm(made)
        assert tiled(exponential) is None


def test_views_are_followed_again_when_ops_may_change() -> None:
    block = entry_function(MODULE.clone()).body.block
    exponential, transpose, last, _ = block.ops
    values = Values(block, MACHINE)
    with values.remembered():
        assert values.chain(last.operands[0]) == (exponential.results[0], (transpose,))
    last.operands[0] = exponential.results[0]
    assert values.chain(last.operands[0]) == (exponential.results[0], ())
    transpose.attributes[MARK] = UnitAttr()
    assert values.chain(transpose.results[0]) == (transpose.results[0], ())
