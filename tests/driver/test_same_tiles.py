"""A tiled program that an earlier attempt had is not compiled again."""

import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnknownLoc, i64

from neuronir.dialects.nc.machine import get_machine
from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.middle import through_tiles
from neuronir.driver.same_tiles import SameTiles, TiledPrograms
from neuronir.passes.tile.room import NEEDED
from tests.driver.attempts import TURN, Compiles

TEXT = """HloModule m

ENTRY e {
  x = f32[512,512] parameter(0)
  y = f32[512,512] parameter(1)
  t = f32[512,512] exponential(x)
  ROOT r = f32[512,512] subtract(t, y)
}
"""


def tiled(text: str = TEXT) -> ModuleOp:
    return compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module


def test_names_locations_and_needed_bytes_do_not_matter() -> None:
    attempts = TiledPrograms()
    attempts.add(tiled())
    other = tiled()
    for op in other.walk():
        op.location = UnknownLoc()
        for result in op.results:
            result.name_hint = None
    other.attributes[NEEDED] = IntegerAttr(7, i64)
    with pytest.raises(SameTiles):
        attempts.add(other)


@pytest.mark.parametrize(
    ("old", "new"),
    [("(t, y)", "(y, t)"), ("exponential", "tanh"), ("f32[512,512]", "f32[512,510]")],
)
def test_operands_ops_and_types_matter(old: str, new: str) -> None:
    attempts = TiledPrograms()
    attempts.add(tiled())
    attempts.add(tiled(TEXT.replace(old, new)))


@pytest.mark.slow
def test_the_next_room_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    module = compile_text(TURN, "trn1", CompileOptions(compile_to="hlo")).module
    ways = Compiles({})
    ways.failures = {"80": SameTiles(), "50": SameTiles()}  # type: ignore[dict-item]
    monkeypatch.setattr("neuronir.driver.middle.same_groups", lambda *_: False)
    through_tiles(module, get_machine("trn1"), ways)
    assert ways.asked[:3] == ["80", "50", "25"]
