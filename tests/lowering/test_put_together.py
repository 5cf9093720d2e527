"""Results of pieces that are cut along all dimensions: none is left for the partitions."""

import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import entry

UPDATES = ("u = f32[20,30,40] parameter(1)", "u = f32[20,30,40] broadcast(c), dimensions={}")


def _args(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("update", UPDATES, ids=["parameter", "constant"])
def test_updates_of_a_part(update: str) -> None:
    text = entry(
        "x = f32[33,37,49] parameter(0)",
        "c = f32[] constant(1.5)",
        update,
        "n = f32[33,37,49] negate(x)",
        "i = s32[] constant(3)",
        "d = f32[33,37,49] dynamic-update-slice(n, u, i, i, i)",
        "r = f32[33,37,49] negate(d)",
    )
    assert not failures(text, _args((33, 37, 49), (20, 30, 40))[: 1 + ("parameter" in update)])


@pytest.mark.parametrize(
    "padding", ["1_0_0x1_0_0x1_0_0", "0_1_1x2_0_1x1_1_0", "-1_0_0x3_-1_0x0_2_1"]
)
@pytest.mark.parametrize("value", ["constant(0.5)", "parameter(1)"])
def test_padding(padding: str, value: str) -> None:
    shape = []
    for n, text in zip((33, 37, 49), padding.split("x"), strict=True):
        low, high, interior = map(int, text.split("_"))
        shape.append(n + (n - 1) * interior + low + high)
    result = ",".join(map(str, shape))
    text = entry(
        "x = f32[33,37,49] parameter(0)",
        f"c = f32[] {value}",
        f"p = f32[{result}] pad(x, c), padding={padding}",
        f"r = f32[{result}] negate(p)",
    )
    assert not failures(text, _args((33, 37, 49), ())[: 1 + ("parameter" in value)])
