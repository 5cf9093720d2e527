"""hlo-tile-rows: bands of rows through convolutions, windows and what is between them."""

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.passes.lowering.batch.tile_rows import HloTileRowsPass
from tests.differential.stages import failures
from tests.lowering.helpers import at_hlo, entry

LABELS = "dim_labels=b01f_01io->b01f"
REDUCER = """max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
"""


def network(rng: np.random.Generator) -> tuple[str, list[np.ndarray]]:
    """A chain of random convolutions, pools and pads, with a branch, and its arguments.

    All numbers are small and whole, so that sums are exact in whatever order they are added up.
    """
    lines: list[str] = []
    args: list[np.ndarray] = []
    shape = [int(rng.integers(1, 3)), *(int(n) for n in rng.integers(12, 20, 2)), 3]

    def text(shape: Sequence[int]) -> str:
        return f"f32[{','.join(map(str, shape))}]"

    def parameter(shape: Sequence[int]) -> str:
        name = f"p{len(args)}"
        lines.append(f"{name} = {text(shape)} parameter({len(args)})")
        args.append(rng.integers(-2, 3, shape).astype(np.float32))
        return name

    def made(what: str) -> str:
        name = f"v{len(lines)}"
        lines.append(f"{name} = {text(shape)} {what}")
        return name

    value = parameter(shape)
    lines.append("zero = f32[] constant(0)")
    lines.append("low = f32[] constant(-inf)")
    for _ in range(int(rng.integers(2, 6))):
        kind = rng.choice(["conv", "pool", "pad", "sign", "residual", "features"])
        sizes = [int(n) for n in rng.integers(1, 4, 2)]
        steps = [int(n) for n in rng.integers(1, 3, 2)]
        spread = [int(n) for n in rng.integers(1, 3, 2)]
        pads = [[int(n) for n in rng.integers(0, 2, 2)] for _ in range(2)]
        reach = [(k - 1) * d + 1 for k, d in zip(sizes, spread, strict=True)]
        rows = [
            (n + sum(p) - r) // s + 1
            for n, p, r, s in zip(shape[1:3], pads, reach, steps, strict=True)
        ]
        window = " ".join(
            f"{name}={'x'.join(map(str, numbers))}"
            for name, numbers in (("size", sizes), ("stride", steps), ("rhs_dilate", spread))
        )
        window += " pad=" + "x".join(f"{a}_{b}" for a, b in pads)
        if kind == "conv":
            features = int(rng.integers(2, 9))
            filter_ = parameter((*sizes, shape[3], features))
            shape = [shape[0], *rows, features]
            value = made(f"convolution({value}, {filter_}), window={{{window}}}, {LABELS}")
        elif kind == "pool":
            spread = [1, 1]
            pads = [[min(p, k - 1) for p in pad] for pad, k in zip(pads, sizes, strict=True)]
            rows = [
                (n + sum(p) - k) // s + 1
                for n, p, k, s in zip(shape[1:3], pads, sizes, steps, strict=True)
            ]
            shape = [shape[0], *rows, shape[3]]
            wide = " ".join(
                f"{name}=1x{'x'.join(map(str, numbers))}x1"
                for name, numbers in (("size", sizes), ("stride", steps))
            )
            wide += " pad=0_0x" + "x".join(f"{a}_{b}" for a, b in pads) + "x0_0"
            value = made(f"reduce-window({value}, low), window={{{wide}}}, to_apply=max")
        elif kind == "pad":
            shape = [
                shape[0],
                *(n + sum(p) for n, p in zip(shape[1:3], pads, strict=True)),
                shape[3],
            ]
            edges = "x".join(f"{a}_{b}" for a, b in pads)
            value = made(f"pad({value}, zero), padding=0_0x{edges}x0_0")
        elif kind == "residual":
            value = made(f"add({value}, {made(f'sign({value})')})")
        elif kind == "features":
            other = made(f"sign({value})")
            shape = [*shape[:3], 2 * shape[3]]
            value = made(f"concatenate({value}, {other}), dimensions={{3}}")
        else:
            value = made(f"sign({value})")
    filter_ = parameter((1, 1, shape[3], 4))
    shape = [*shape[:3], 4]
    made(f"convolution({value}, {filter_}), window={{size=1x1}}, {LABELS}")
    body = "\n".join(lines[:-1])
    return f"HloModule m\n{REDUCER}ENTRY main {{\n{body}\nROOT {lines[-1]}\n}}", args


def count(module: ModuleOp, name: str) -> int:
    return sum(op.name == name for op in module.walk())


@pytest.mark.parametrize("seed", range(40))
def test_random_networks_by_bands(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text, args = network(rng)
    module = at_hlo(text)
    (want,) = interpret(module, args)
    (most,) = interpret(module, [np.abs(x) for x in args])
    assert np.max(most, initial=0.0) < 2**24  # no sum was rounded on the way, however it was made
    bands = int(rng.integers(2, 5))
    HloTileRowsPass(target="trn1", bands=bands).apply(Context(), module)
    module.verify()
    (got,) = interpret(module, args)
    np.testing.assert_array_equal(got, want)


def test_bands_are_written() -> None:
    found = 0
    for seed in range(10):
        module = at_hlo(network(np.random.default_rng(seed))[0])
        before = count(module, "hlo.convolution")
        HloTileRowsPass(target="trn1", bands=3).apply(Context(), module)
        found += count(module, "hlo.convolution") > before
    assert found == 10


WHOLE_BETWEEN = f"""HloModule m
{REDUCER}ENTRY main {{
x = f32[1,12,12,3] parameter(0)
w = f32[3,3,3,4] parameter(1)
low = f32[] constant(-inf)
c = f32[1,12,12,4] convolution(x, w), window={{size=3x3 pad=1_1x1_1}}, {LABELS}
most = f32[4] reduce(c, low), dimensions={{0,1,2}}, to_apply=max
twice = f32[4] add(most, most)
s = f32[1,12,12,4] sign(c)
ROOT r = (f32[4], f32[1,12,12,4]) tuple(twice, s)
}}"""


def test_an_op_between_that_reads_the_whole_result() -> None:
    """It comes before the last op that is computed in bands, and needs all bands of the first."""
    rng = np.random.default_rng(0)
    args = [rng.integers(-2, 3, n).astype(np.float32) for n in ((1, 12, 12, 3), (3, 3, 3, 4))]
    module = at_hlo(WHOLE_BETWEEN)
    want = interpret(module, args)
    HloTileRowsPass(target="trn1", bands=3).apply(Context(), module)
    assert count(module, "hlo.convolution") == 3
    for found, wanted in zip(interpret(module, args), want, strict=True):
        np.testing.assert_array_equal(found, wanted)


LARGE = {
    "stem": (  # 299 x 299: the rows do not divide by the stride
        "x = f32[1,299,299,3] parameter(0)",
        "w = f32[3,3,3,32] parameter(1)",
        "v = f32[3,3,32,32] parameter(2)",
        f"c = f32[1,149,149,32] convolution(x, w), window={{size=3x3 stride=2x2}}, {LABELS}",
        "t = f32[1,149,149,32] tanh(c)",
        f"d = f32[1,147,147,32] convolution(t, v), window={{size=3x3}}, {LABELS}",
    ),
    "rescaled": (
        "x = f32[1,225,225,3] parameter(0)",
        "w = f32[3,3,3,40] parameter(1)",
        "s = f32[] constant(0.25)",
        "b = f32[1,225,225,3] broadcast(s), dimensions={}",
        "y = f32[1,225,225,3] multiply(x, b)",
        f"c = f32[1,225,225,40] convolution(y, w), window={{size=3x3 pad=1_1x1_1}}, {LABELS}",
        "t = f32[1,225,225,40] tanh(c)",
    ),
    "result": (
        "x = f32[1,3,224,224] parameter(0)",
        "w = f32[64,3,3,3] parameter(1)",
        "v = f32[64,64,3,3] parameter(2)",
        "c = f32[1,64,224,224] convolution(x, w), "
        "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01",
        "t = f32[1,64,224,224] tanh(c)",
        "d = f32[1,64,224,224] convolution(t, v), "
        "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01",
    ),
    "pointwise": (
        "x = f32[1,200,200,2] parameter(0)",
        "w = f32[1,1,2,2] parameter(1)",
        f"c = f32[1,200,200,2] convolution(x, w), window={{size=1x1}}, {LABELS}",
        "t = f32[1,200,200,2] tanh(c)",
    ),
    "dilated": (  # no rows to cut: by images
        "x = f32[128,3,1,64] parameter(0)",
        "w = f32[7,2,3,1] parameter(1)",
        "c = f32[128,1,1,128] convolution(x, w), "
        "window={size=7x2 pad=0_6x1_1 lhs_dilate=2x2}, dim_labels=bf01_01io->bf01",
    ),
    "few features": (
        "x = f32[3,160,160,2] parameter(0)",
        "w = f32[5,5,2,3] parameter(1)",
        f"c = f32[3,160,160,3] convolution(x, w), window={{size=5x5 pad=2_2x2_2}}, {LABELS}",
    ),
}


SLOW = ("stem", "rescaled", "result", "few features")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in LARGE]
)
def test_activations_that_are_larger_than_memory(name: str) -> None:
    lines = LARGE[name]
    rng = np.random.default_rng(0)
    shapes = [
        [int(n) for n in s.split("[")[1].split("]")[0].split(",")]
        for s in lines
        if "parameter(" in s
    ]
    args = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    assert not failures(entry(*lines), args, "none", phases=("binary",))
