"""Long dimensions with few other positions, folded into pieces, against XLA.

Sums are of small integers and products of ones, so that every order of the operations is exact.
"""

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.differential.stages import stages
from tests.oracle import run_xla

NAMES = {"add": "0", "multiply": "1", "maximum": "-inf", "minimum": "inf"}


def _running(opcode: str, dims: tuple[int, ...], axis: int, kind: str, backwards: bool) -> str:
    shape = f"{kind}[{','.join(map(str, dims))}]"
    size = "x".join(str(n if d == axis else 1) for d, n in enumerate(dims))
    n = dims[axis] - 1
    pads = f"0_{n}" if backwards else f"{n}_0"
    pad = "x".join(pads if d == axis else "0_0" for d in range(len(dims)))
    return f"""HloModule m

f {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  ROOT c = {kind}[] {opcode}(a, b)
}}

ENTRY e {{
  x = {shape} parameter(0)
  z = {kind}[] constant({NAMES[opcode]})
  ROOT r = {shape} reduce-window(x, z), window={{size={size} pad={pad}}}, to_apply=f
}}
"""


def _numbers(opcode: str, dims: tuple[int, ...], kind: str) -> NDArray[np.generic]:
    rng = np.random.default_rng(3)
    if opcode == "multiply":
        x = rng.choice([-1.0, 1.0], size=dims)
    elif opcode == "add":
        x = rng.integers(-1, 2, size=dims).astype(np.float64)
        x.reshape(-1)[:100] = 1.0
    else:
        x = rng.standard_normal(dims) + np.linspace(-3, 3, dims[0]).reshape(
            -1, *[1] * (len(dims) - 1)
        )
    types = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "s32": np.int32}
    return x.astype(types[kind])


@pytest.mark.parametrize("phases", [("tiled", "binary"), ("binary",)])
@pytest.mark.parametrize(
    ("opcode", "dims", "axis", "kind", "backwards"),
    [
        ("add", (10007,), 0, "f32", False),
        ("add", (3, 9001), 1, "f32", True),
        ("multiply", (8209, 5), 0, "f32", False),
        ("maximum", (2, 5003, 3), 1, "f32", True),
        ("minimum", (128, 17000), 1, "f32", False),
        ("add", (5, 4800), 1, "bf16", False),
        ("add", (6151,), 0, "s32", False),
    ],
)
def test_running_reductions(
    opcode: str,
    dims: tuple[int, ...],
    axis: int,
    kind: str,
    backwards: bool,
    phases: tuple[str, ...],
) -> None:
    if axis == 0 and len(dims) > 1 and "tiled" in phases:
        pytest.skip("phase tiled has no room for rows that lie across the partitions")
    text = _running(opcode, dims, axis, kind, backwards)
    x = _numbers(opcode, dims, kind)
    (want,) = run_xla(text, [x])
    for stage in stages(text, [x], phases=phases):
        (found,) = stage.outputs
        if kind == "bf16":  # XLA rounds each sum
            want = np.cumsum(x.astype(np.float32), axis=axis).astype(x.dtype)
        assert np.array_equal(found, want), stage.phase
