"""The floor of a model counts each array that must move."""

from benchmarks.floor import least_bytes
from neuronir.frontends.hlo_text import import_hlo_text

_ARRAY = 8 * 16 * 4


def _module(root: str, result: str) -> str:
    return f"""HloModule m

ENTRY main {{
  x = f32[8,16] parameter(0)
  y = f32[8,16] negate(x)
  ROOT r = {result} {root}
}}
"""


def test_arguments_and_results_move_once() -> None:
    module = import_hlo_text(_module("add(x, y)", "f32[8,16]"))
    assert least_bytes(module) == 2 * _ARRAY


def test_results_in_nested_tuples_are_counted() -> None:
    text = _module("tuple(x, t)", "(f32[8,16], (f32[8,16], f32[8,16]))")
    module = import_hlo_text(
        text.replace("  ROOT", "  t = (f32[8,16], f32[8,16]) tuple(y, y)\n  ROOT")
    )
    assert least_bytes(module) == 4 * _ARRAY
