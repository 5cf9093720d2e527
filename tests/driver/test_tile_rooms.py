"""Other sizes of tiles: where they are tried, and which program is kept."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf

import pytest

from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.diagnostics import Message, handling
from neuronir.driver import CompiledResult, compile_text, middle
from neuronir.driver.least_time import least_ns
from neuronir.driver.middle import choose_middle, through_tiles
from neuronir.driver.phases import TO_TILED
from neuronir.driver.too_slow import TooSlow
from tests.driver.attempts import EXACT, TURN, Compiles, compiled, failure


def test_smaller_tiles_where_a_program_is_too_large() -> None:
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    ways = Compiles({"80": failure("NCC_EOOM002"), "50": failure("NCC_EOOM002")})
    _, chosen = through_tiles(module, get_machine("trn1"), ways)
    assert ways.asked[:3] == ["80", "50", "25"]
    assert chosen.pipelines is not None and "room=25" in chosen.pipelines["tiled"]


def test_smaller_tiles_where_they_may_be_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rooms are tried where a program is far from its least time, and the fastest is taken; one
    where it is near."""
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    machine = get_machine("trn1")
    made = compiled(TURN, "always")
    assert made.program is not None
    monkeypatch.setattr(middle, "same_groups", lambda *_: False)  # it stands for other programs
    asked: list[str] = []
    limits: list[float] = []

    def ways(
        tiled: bool,
        pipelines: Mapping[str, str] | None = None,
        limit_ns: float = inf,
        first: bool = True,
    ) -> CompiledResult:
        limits.append(limit_ns)
        asked.append(pipelines["tiled"].split("room=")[1][:2] if pipelines else "80")
        return made

    def timed(
        *times: float, busy: float = 0.0, direct: float = inf, thorough: bool = False
    ) -> tuple[float, middle.Middle]:
        asked.clear()
        limits.clear()
        rest = iter([(time, busy) for time in times])
        monkeypatch.setattr(middle, "_timing", lambda result, machine: next(rest))
        return through_tiles(module, machine, ways, TO_TILED, direct_ns=direct, thorough=thorough)

    time, chosen = timed(4e6, 3e6, 2e6, 5e6)
    assert asked == ["80", "50", "25", "10"] and time == 2e6
    assert chosen.pipelines is not None and "room=25" in chosen.pipelines["tiled"]
    timed(1.0)
    assert asked == ["80"]
    time, _ = timed(4e6, 3e6, busy=2.9e6)
    assert asked == ["80", "50"] and time == 3e6
    timed(4e6, 3e6, 2e6, 5e6, direct=3.5e6)
    assert limits == [3.5e6, 3.5e6, 3e6, 2e6]  # none of them may take longer than what is known
    monkeypatch.setattr(middle, "SEARCHED", 1)  # the program is large
    made.program.variables.append(replace(made.program.variables[0], kind="spill", size=1 << 30))
    timed(4e6, 3e6, 2e6, 5e6, direct=3.5e6, thorough=True)
    assert asked == ["80", "50", "25", "10"]
    monkeypatch.setattr(middle, "FEW", 0)  # of many ops
    timed(4e6, direct=3.5e6)
    assert asked == ["80"]
    size = middle._size(made.module)
    monkeypatch.setattr(middle, "EFFORT", 2 * size)  # all attempts together may have as many ops
    timed(4e6, 3e6, 2e6, 5e6)
    assert asked == ["80", "50", "25"]


def test_smaller_tiles_only_for_room_without_control_flow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All iterations become instructions there, so attempts are slow."""
    module = compile_text(TURN, "inf1", replace(EXACT, compile_to="hlo")).module
    monkeypatch.setattr(middle, "same_groups", lambda *_: False)
    ways = Compiles({"direct": failure("NCC_EOOM002"), "80": failure("NCC_EOOM002")})
    monkeypatch.setattr(middle, "_timing", lambda result, machine: (4e6, 0.0))
    assert choose_middle(module, get_machine("inf1"), ways).tiled
    assert ways.asked == ["direct", "80", "50"]


def test_a_fault_of_other_tiles_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    monkeypatch.setattr(middle, "_timing", lambda result, machine: (4e6, 0.0))
    ways = Compiles({"50": failure("NIR_NC010", internal=True)})
    said: list[Message] = []
    with handling(said.append):
        _, chosen = through_tiles(module, get_machine("trn1"), ways)
    assert chosen.tiled and ways.asked == ["80", "50"]
    assert [m.text for m in said if m.fault] == [
        "[NIR_NC010] no; not compiled with tile-fuse{room=50}"
    ]


def test_large_programs_that_spill_are_tried_without_control_flow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A layer of BERT at batch 32 spilled its activations: 55 ms on inf1 instead of 23."""
    module = compile_text(TURN, "inf1", replace(EXACT, compile_to="hlo")).module
    machine = get_machine("inf1")
    made = compile_text(TURN, "inf1", replace(EXACT, tiling="never"))
    assert made.program is not None
    asked: list[bool] = []

    def ways(
        tiled: bool,
        pipelines: Mapping[str, str] | None = None,
        limit_ns: float = inf,
        first: bool = True,
    ) -> CompiledResult:
        asked.append(tiled)
        return made

    monkeypatch.setattr(middle, "SEARCHED", 1)  # the program is large
    time = 5 * least_ns(module, machine)
    monkeypatch.setattr(middle, "_timing", lambda result, machine: (time, time))
    choose_middle(module, machine, ways)
    assert asked == [False]
    made.program.variables.append(replace(made.program.variables[0], kind="spill", size=1 << 30))
    choose_middle(module, machine, ways)
    assert asked == [False, False, True]


def test_other_tiles_of_few_ops_are_tried_behind_slow_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tiles of 769 rows do not divide over partitions, smaller ones may."""
    machine = get_machine("trn1")
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    slow = TooSlow(1e9)
    ways = Compiles({"80": slow, "50": slow})
    time, _ = through_tiles(module, machine, ways, direct_ns=1e8)
    assert ways.asked[:3] == ["80", "50", "25"] and time < 1e8
    ways = Compiles(dict.fromkeys(["80", "50", "25", "10"], slow))
    with pytest.raises(TooSlow):
        through_tiles(module, machine, ways, direct_ns=1e8)
    assert ways.asked == ["80", "50", "25"]
    monkeypatch.setattr(middle, "FEW", 2)
    ways = Compiles({"80": slow})
    with pytest.raises(TooSlow):
        through_tiles(module, machine, ways, direct_ns=1e8)
    assert ways.asked == ["80"]


@pytest.mark.slow
def test_other_tiles_of_few_ops_are_tried_where_the_first_ones_spill(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many instructions the spills add: smaller tiles may not spill."""
    machine = get_machine("trn1")
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    monkeypatch.setattr(middle, "_spills", lambda *_: True)
    monkeypatch.setattr(middle, "EFFORT", 0)
    monkeypatch.setattr(middle, "SEARCHED", 0)
    ways = Compiles({})
    through_tiles(module, machine, ways, direct_ns=1.0)
    assert ways.asked[:2] == ["80", "50"]
    monkeypatch.setattr(middle, "FEW", 2)
    ways = Compiles({})
    through_tiles(module, machine, ways, direct_ns=1.0)
    assert ways.asked == ["80"]
