"""softmax and normalisations of rows of many shapes, on every phase."""

import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import entry

SHAPES = [
    ((5, 7), 1),
    ((7, 5), 0),
    ((130, 33), 1),
    ((3, 50, 17), 2),
    ((2, 4, 9, 16), 3),
    ((6, 1300), 1),
]


def _text(shape: tuple[int, ...], axis: int, kind: str) -> str:
    """HLO of a normalisation of an array along one of its dimensions."""
    full = f"f32[{','.join(map(str, shape))}]"
    kept = [d for d in range(len(shape)) if d != axis]
    one = f"f32[{','.join(str(shape[d]) for d in kept)}]"
    vector = f"f32[{shape[axis]}]"
    across = f"dimensions={{{','.join(map(str, kept))}}}"
    along = f"dimensions={{{axis}}}"

    def spread(name: str, source: str) -> str:
        return f"{name} = {full} broadcast({source}), {across}"

    if kind == "softmax":
        lines = [
            f"x = {full} parameter(0)",
            "low = f32[] constant(-inf)",
            "zero = f32[] constant(0)",
            f"top = {one} reduce(x, low), {along}, to_apply=max",
            spread("tops", "top"),
            f"shifted = {full} subtract(x, tops)",
            f"raised = {full} exponential(shifted)",
            f"sum = {one} reduce(raised, zero), {along}, to_apply=add",
            spread("sums", "sum"),
            f"r = {full} divide(raised, sums)",
        ]
    else:
        centre = kind == "layer_norm"
        lines = [
            f"x = {full} parameter(0)",
            f"s = {vector} parameter(1)",
            f"o = {vector} parameter(2)",
            "zero = f32[] constant(0)",
            f"n = f32[] constant({shape[axis]})",
            f"ns = {one} broadcast(n), dimensions={{}}",
            "e = f32[] constant(1e-5)",
            f"es = {one} broadcast(e), dimensions={{}}",
            f"sum = {one} reduce(x, zero), {along}, to_apply=add",
            f"mean = {one} divide(sum, ns)",
            spread("means", "mean"),
            f"centred = {full} subtract(x, means)" if centre else f"centred = {full} copy(x)",
            f"squares = {full} multiply(centred, centred)",
            f"total = {one} reduce(squares, zero), {along}, to_apply=add",
            f"variance = {one} divide(total, ns)",
            f"sure = {one} add(variance, es)",
            f"root = {one} rsqrt(sure)",
            spread("roots", "root"),
            f"normal = {full} multiply(centred, roots)",
            f"scale = {full} broadcast(s), dimensions={{{axis}}}",
            f"scaled = {full} multiply(normal, scale)",
            f"offset = {full} broadcast(o), dimensions={{{axis}}}",
            f"r = {full} add(scaled, offset)" if centre else f"r = {full} copy(scaled)",
        ]
    reducers = "".join(
        f"{name} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        f"  ROOT c = f32[] {op}(a, b)\n}}\n\n"
        for name, op in (("max", "maximum"), ("add", "add"))
    )
    return entry(*lines).replace("ENTRY", f"{reducers}ENTRY")


@pytest.mark.parametrize("kind", ["softmax", "layer_norm", "rms_norm"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_normalisation(kind: str, shape: tuple[int, ...], axis: int) -> None:
    rng = np.random.default_rng(3)
    x = (3.0 * rng.standard_normal(shape) + 1.0).astype(np.float32)
    args = [x]
    if kind != "softmax":
        args += [rng.standard_normal(shape[axis]).astype(np.float32) for _ in range(2)]
    assert not failures(_text(shape, axis, kind), args)


def test_softmax_of_rows_with_infinities() -> None:
    """A masked element becomes zero; a row that is masked as a whole is not a number, as in XLA."""
    x = np.random.default_rng(4).standard_normal((4, 16)).astype(np.float32)
    x[1, 3:9] = -np.inf
    x[2, :] = -np.inf
    assert not failures(_text(x.shape, 1, "softmax"), [x])
