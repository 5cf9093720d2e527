"""Pooling: windows of all kinds against the interpreter, and in which type they select."""

import ml_dtypes
import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import entry

CASES = (
    # operand, window, operator, type
    ("1,12,12,8", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0", "maximum", "bf16"),
    ("1,12,12,8", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0", "maximum", "f32"),
    ("2,8,13,11", "size=1x1x3x2 stride=1x1x2x2 pad=0_0x0_0x0_1x1_0", "maximum", "f32"),
    ("3,200,9,10", "size=1x1x2x2 stride=1x1x2x2", "minimum", "f32"),
    ("2,7,7,96", "size=1x7x7x1", "add", "f32"),
    ("2,7,7,96", "size=1x7x7x1 pad=0_0x3_3x3_3x0_0", "add", "f32"),
    ("2,9,9,5", "size=1x3x3x1 pad=0_0x1_1x1_1x0_0", "add", "bf16"),
    ("4,20,16", "size=1x3x1 stride=1x2x1 pad=0_0x4_4x0_0", "maximum", "f32"),
    ("4,20,16", "size=1x5x1 pad=0_0x6_6x0_0", "add", "f32"),
    ("2,6,7,8,4", "size=1x2x3x2x1 stride=1x1x2x2x1", "maximum", "f32"),
    ("2,9,9,5", "size=1x3x3x1 stride=1x3x3x1 pad=0_0x0_3x0_3x0_0", "maximum", "s32"),
    ("130,6,6", "size=2x3x3 stride=2x1x1", "add", "f32"),
)


INITIAL = (
    # operand, window, operator, type, initial value
    ("32,1,1", "size=5x1x1 pad=4_4x0_1x0_0", "minimum", "s32", "5"),  # ends in a padded view
    ("10,1", "size=3x1 pad=0_0x0_1", "maximum", "f32", "1"),
    ("9,4", "size=1x1 stride=2x1", "add", "s32", "3"),  # nothing but a view of the operand
    ("9,4", "size=1x1", "maximum", "f32", "0.5"),  # the operand itself
    ("2,5,1", "size=1x3x1 pad=1_2x3_2x0_0", "maximum", "s32", "1"),  # too many pieces at once
    ("32,5,1", "size=1x2x1 stride=1x2x2 pad=0_0x1_0x0_2", "maximum", "s32", "0"),  # pads twice
    # running results of columns whose last tile has fewer partitions, both ways
    ("3,129", "size=3x1 pad=0_2x0_0", "maximum", "f32", "0.5"),
    ("2,5,129", "size=1x5x1 pad=0_0x4_0x0_0", "add", "f32", "2"),
)


def _pool(shape: str, window: str, opcode: str, type_: str, initial: str = "") -> str:
    least = "-2147483648" if type_ == "s32" else "-inf"
    initial = initial or {"add": "0", "maximum": least, "minimum": "inf"}[opcode]
    dims = [int(n) for n in shape.split(",")]
    fields = dict(f.split("=") for f in window.split())
    one = "x".join("1" for _ in dims)
    size = [int(n) for n in fields["size"].split("x")]
    stride = [int(n) for n in fields.get("stride", one).split("x")]
    pads = fields.get("pad", "x".join("0_0" for _ in dims)).split("x")
    out = []
    for n, k, s, pad in zip(dims, size, stride, pads, strict=True):
        low, high = (int(p) for p in pad.split("_"))
        out.append((n + low + high - k) // s + 1)
    result = ",".join(map(str, out))
    return (
        f"HloModule m\n\nf {{\n  a = {type_}[] parameter(0)\n  b = {type_}[] parameter(1)\n"
        f"  ROOT c = {type_}[] {opcode}(a, b)\n}}\n\nENTRY e {{\n"
        f"  x = {type_}[{shape}] parameter(0)\n"
        f"  i = {type_}[] constant({initial})\n"
        f"  ROOT r = {type_}[{result}] reduce-window(x, i), window={{{window}}}, to_apply=f\n}}\n"
    )


@pytest.mark.parametrize(("shape", "window", "opcode", "type_"), CASES)
def test_pooling(shape: str, window: str, opcode: str, type_: str) -> None:
    dims = [int(n) for n in shape.split(",")]
    dtype = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "s32": np.int32}[type_]
    x = (np.random.default_rng(0).standard_normal(dims) * 8).astype(dtype)
    assert not failures(_pool(shape, window, opcode, type_), [x], phases=("virtual", "binary"))


@pytest.mark.parametrize(("shape", "window", "opcode", "type_", "initial"), INITIAL)
def test_an_initial_value_that_counts(
    shape: str, window: str, opcode: str, type_: str, initial: str
) -> None:
    dims = [int(n) for n in shape.split(",")]
    text = _pool(shape, window, opcode, type_, initial)
    # The operand is a result too: an initial value must not be written over it.
    result = text.split("ROOT r = ")[1].split(" ")[0]
    text = text.replace("ROOT r =", "r =").removesuffix("}\n")
    text += f"  ROOT t = ({result}, {type_}[{shape}]) tuple(r, x)\n}}\n"
    dtype = {"f32": np.float32, "s32": np.int32}[type_]
    x = (np.random.default_rng(0).standard_normal(dims) * 8).astype(dtype)
    assert not failures(text, [x], phases=("virtual", "binary"))


def test_pooling_before_a_product_selects_among_rounded_numbers() -> None:
    lines = (
        "x = f32[1,9,9,8] parameter(0)",
        "w = f32[1,1,8,4] parameter(1)",
        "i = f32[] constant(-inf)",
        "p = f32[1,4,4,8] reduce-window(x, i), window={size=1x3x3x1 stride=1x2x2x1}, to_apply=f",
        "c = f32[1,4,4,4] convolution(p, w), window={size=1x1}, dim_labels=b01f_01io->b01f",
    )
    text = entry(*lines).replace(
        "ENTRY",
        "f {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, b)\n}"
        "\n\nENTRY",
    )
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s).astype(np.float32) for s in ((1, 9, 9, 8), (1, 1, 8, 4))]
    assert not failures(text, args, "matmult", phases=("hlo", "virtual", "binary"))
