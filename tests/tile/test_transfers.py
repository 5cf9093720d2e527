"""How many transfers a copy of a value in a partition takes."""

from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.lowering.layouts.layout import atom
from neuronir.passes.tile.lower.convert import transfers

SCALED = """HloModule m

ENTRY e {
  x = f32[64,56,56] parameter(0)
  g = f32[64] parameter(1)
  halves = f32[128,1568] reshape(x)
  s = f32[128,1568] tanh(halves)
  y = f32[64,56,56] reshape(s)
  b = f32[64,56,56] broadcast(g), dimensions={0}
  ROOT r = f32[64,56,56] multiply(y, b)
}
"""
"""A scale by channel of a value that has halves of channels on partitions."""


def test_digits_of_one_stride_are_one_transfer() -> None:
    assert transfers((), 1000) == 1
    assert transfers(((atom(128, 10), 1),), 1280) == 1
    assert transfers(((atom(16, 80), 8), (atom(8, 10), 1)), 1280) == 1
    assert transfers(((atom(128, 1280), 1),), 1280) == 1  # a copy on every partition


def test_other_digits_are_a_transfer_each() -> None:
    assert transfers(((atom(16, 200), 8), (atom(8, 10), 1)), 3200) == 16
    assert transfers(((atom(64, 1), 2), (atom(2, 64), 1)), 64) == 64
    assert transfers(((atom(2, 64), 64), (atom(64, 1), 1)), 64) == 2
    assert transfers(((atom(128, 1), 1),), 128) == 1


def test_a_repeated_value_is_not_loaded_by_many_small_transfers() -> None:
    options = CompileOptions(compile_to="virtual", tiling="always")
    ops = list(compile_text(SCALED, "trn1", options).module.walk())
    assert sum(op.name == "nc.dma" for op in ops) < 10
