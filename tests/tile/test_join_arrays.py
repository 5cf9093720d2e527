"""Arrays that one loop assembles and that are then concatenated are parts of one array."""

import pytest

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.passes_hlo.test_join_loops import TEXT
from tests.tile.test_found import arguments

LONG = TEXT.replace("constant(64)", "constant(2048)").replace("[64,", "[2048,")


def names(text: str) -> list[str]:
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    return [op.name for op in module.walk()]


@pytest.mark.parametrize(
    ("dim", "order"),
    [
        (0, "forward, backward"),
        (0, "backward, forward"),
        (1, "backward, forward"),
        (2, "forward, backward"),
        pytest.param(1, "forward, backward", marks=pytest.mark.slow),
        pytest.param(2, "backward, forward", marks=pytest.mark.slow),
    ],
)
def test_both_directions_are_written_to_their_places(order: str, dim: int) -> None:
    """In either order; along the dimension of the iterations too, one after the other."""
    shape = [2048, 4, 8]
    shape[dim] *= 2
    old = "concatenate(forward, backward), dimensions={2}"
    text = LONG.replace(old, f"concatenate({order}), dimensions={{{dim}}}")
    text = text.replace("f32[2048,4,16]", "f32[" + ",".join(map(str, shape)) + "]")
    assert "hlo.concatenate" not in names(text)
    args = [0.3 * a for a in arguments(text)]
    assert not failures(text, args, "none", None, ("tiled", "virtual", "binary"))


def test_an_array_that_is_read_elsewhere_stays() -> None:
    text = LONG.replace("tuple(both, last)", "tuple(both, last, forward)").replace(
        "ROOT all = (f32[2048,4,16], f32[4,8])",
        "ROOT all = (f32[2048,4,16], f32[4,8], f32[2048,4,8])",
    )
    assert "hlo.concatenate" in names(text)
    args = [0.3 * a for a in arguments(text)]
    assert not failures(text, args, "none", None, ("tiled", "virtual", "binary"))
