"""tile-fuse tells from which room on it finds the same groups; other rooms are tried, no more."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine
from neuronir.driver import CompileOptions, compile_text, middle
from neuronir.driver.same_tiles import TiledPrograms
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.tile.room import Room, same_groups
from neuronir.pipeline import parse_pipeline
from neuronir.registry import Registry
from neuronir.targets.neff.writer import neff_pieces
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.timing import TimingResult, simulate_timing

REGISTRY = Registry.discover()
SORT = """HloModule m
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}
ENTRY e {
  x = f32[8,64] parameter(0)
  ROOT y = f32[8,64] sort(x), dimensions={1}, to_apply=less
}
"""
LARGE = """HloModule m
ENTRY e {
  x = f32[4096,256] parameter(0)
  y = f32[256,4096] parameter(1)
  z = f32[4096,4096] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = f32[4096,4096] tanh(z)
}
"""


def test_what_is_needed() -> None:
    room = Room(1000)
    assert room.fits(300, beside=200) and room.needed == 500
    assert not room.fits(900, beside=200) and room.needed == 500
    assert room.fits(240, share=0.4) and room.needed == 600
    assert not room.fits(500, share=0.4) and room.needed == 600


def fused(text: str, percent: int) -> ModuleOp:
    """The program after tile-fuse with a room."""
    module = import_hlo_text(text, "test.hlo")
    pipeline = f"@trn1:hlo,tile-expand-composites,tile-fuse{{target=trn1 room={percent}}}"
    for one in parse_pipeline(pipeline, REGISTRY.passes, REGISTRY.pipelines):
        one.apply(REGISTRY.context(), module)
    return module


def test_same_groups() -> None:
    machine = get_target("trn1").machine
    small = [fused(SORT, percent) for percent in (80, 10)]
    assert same_groups(small[0], machine, 10) and not same_groups(small[0], machine, 0)
    assert str(small[0]) == str(small[1])
    large = [fused(LARGE, percent) for percent in (80, 50, 10)]
    assert not any(same_groups(large[0], machine, percent) for percent in (50, 10))
    assert len({str(module) for module in large}) == 3


def test_no_room_is_tried_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is the same, with fewer attempts: neither if the groups need no more room, nor if
    the tiled programs turn out to be equal."""
    monkeypatch.setattr(middle, "SMALL_NS", 0.0)
    monkeypatch.setattr(middle, "SHORT_NS", 0.0)
    tried = 0

    def counted(program: Program, machine: Machine) -> TimingResult:
        nonlocal tried
        tried += 1
        return simulate_timing(program, machine)

    monkeypatch.setattr("neuronir.driver.middle.simulate_timing", counted)

    def neff() -> tuple[bytes, int]:
        nonlocal tried
        tried = 0
        result = compile_text(SORT, "trn1", CompileOptions(tiling="always"))
        assert result.program is not None
        return b"".join(neff_pieces(result.program, "0", result.encoding)), tried

    fewer = neff()
    assert fewer[1] == 1
    monkeypatch.setattr(middle, "same_groups", lambda *_: False)
    assert neff() == fewer
    monkeypatch.setattr(TiledPrograms, "add", lambda *_: None)
    assert neff() == (fewer[0], 4)
