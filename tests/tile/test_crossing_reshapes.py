"""Values of reshapes in which one digit covers parts of two dimensions."""

import numpy as np
import pytest

from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.npz import Array
from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.simulator.functional import Options, run
from tests.oracle import run_xla

SIZES = (7, 4, 63)
TEXT = """HloModule m

body {
  t = (s32[], s32[7,4,63]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = s32[7,4,63] get-tuple-element(t), index=1
  y = s32[7,63,4] transpose(x), dimensions={0,2,1}
  z = s32[7,4,63] reshape(y)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], s32[7,4,63]) tuple(j, z)
}

combine {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] OPCODE(a, b)
}

test {
  t = (s32[], s32[7,4,63]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = s32[7,4,63] get-tuple-element(t), index=1
  seven = s32[] constant(7)
  less = pred[] compare(i, seven), direction=LT
  first = s32[] constant(FIRST)
  m = s32[KEPT] reduce(x, first), dimensions={DIMS}, to_apply=combine
  n = s32[] reduce(m, first), dimensions={REST}, to_apply=combine
  three = s32[] constant(3)
  k = s32[] and(n, three)
  more = pred[] compare(k, three), direction=NE
  ROOT g = pred[] and(less, more)
}

ENTRY main {
  x = s32[7,4,63] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], s32[7,4,63]) tuple(zero, x)
  w = (s32[], s32[7,4,63]) while(t), condition=test, body=body
  ROOT r = s32[7,4,63] get-tuple-element(w), index=1
}
"""


def _equals_xla(text: str, x: Array) -> None:
    """The program of tiles has the results of XLA's CPU backend, bit by bit."""
    options = CompileOptions(auto_cast="none", tiling="always")
    program = compile_text(text, "trn1", options).program
    assert program is not None
    found = run(program, [x], get_machine("trn1"), Options(races=True)).outputs
    np.testing.assert_array_equal(found[0], run_xla(text, [x])[0])


@pytest.mark.parametrize(("opcode", "first"), [("maximum", -1000), ("add", 0)])
@pytest.mark.parametrize("dims", ["2", "0,2", "0,1,2"])
def test_reductions(dims: str, opcode: str, first: int) -> None:
    """A loop carries a value that each iteration transposes and reshapes, and that its condition
    reduces."""
    reduced = [int(d) for d in dims.split(",")]
    kept = [n for d, n in enumerate(SIZES) if d not in reduced]
    text = TEXT.replace("OPCODE", opcode).replace("FIRST", str(first)).replace("DIMS", dims)
    text = text.replace("KEPT", ",".join(map(str, kept)))
    text = text.replace("REST", ",".join(map(str, range(len(kept)))))
    _equals_xla(text, np.random.default_rng(5).integers(-99, 99, SIZES).astype(np.int32))


def _read(*lines: str) -> str:
    """A program in which `lines` read a product that is transposed and reshaped, `z`."""
    *body, root = lines
    return "\n  ".join(
        [
            "HloModule m\n\nmaximum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)",
            "ROOT c = f32[] maximum(a, b)\n}\n\nENTRY main {",
            "x = f32[7,4,63] parameter(0)",
            "square = f32[7,4,63] multiply(x, x)",
            "y = f32[7,63,4] transpose(square), dimensions={0,2,1}",
            "z = f32[7,4,63] reshape(y)",
            *body,
            f"ROOT {root}\n}}\n",
        ]
    )


READERS = {
    "concatenate": ["r = f32[7,4,126] concatenate(x, z), dimensions={2}"],
    "pad": ["zero = f32[] constant(0)", "r = f32[7,7,66] pad(z, zero), padding=0_0x1_2x2_1"],
    "reverse": ["r = f32[7,4,63] reverse(z), dimensions={1}"],
    "subtract": [
        "low = f32[] constant(-inf)",
        "m = f32[7,4] reduce(z, low), dimensions={2}, to_apply=maximum",
        "b = f32[7,4,63] broadcast(m), dimensions={0,1}",
        "r = f32[7,4,63] subtract(z, b)",
    ],
}


@pytest.mark.parametrize("name", READERS)
def test_readers(name: str) -> None:
    text = _read(*READERS[name])
    _equals_xla(text, np.random.default_rng(5).integers(-9, 9, SIZES).astype(np.float32))
