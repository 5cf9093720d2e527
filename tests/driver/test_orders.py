"""Level 3 orders a program in several ways and keeps the fastest."""

from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.dialects.support.diagnostics import Message, handling
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions, compile_file, compile_text, orders
from neuronir.driver.phases import orders_of
from neuronir.passes import statistics
from neuronir.passes.nc.order_triggers import NcOrderTriggersPass
from neuronir.passes.nc.schedule import NcSchedulePass
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.timing import simulate_timing
from tests.driver.models import DENSE

MODEL = Path(__file__).parents[2] / "examples" / "bert_tiny.hlo"


def compiled(level: int) -> tuple[float, list[str]]:
    """Simulated ns at a level, and what was said."""
    said: list[Message] = []
    with handling(said.append):
        result = compile_file(str(MODEL), "trn1", CompileOptions(optlevel=level))
    assert result.program is not None
    time = simulate_timing(result.program, result.target.machine).total_ns
    return time, [m.text for m in said]


def counted(monkeypatch: pytest.MonkeyPatch, kind: type[ModulePass]) -> list[int]:
    """A list of one number: how often a pass has run since."""
    right, called = kind.apply, [0]

    def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        called[0] += 1
        right(self, ctx, op)

    monkeypatch.setattr(kind, "apply", apply)
    return called


def test_no_order_is_faster() -> None:
    """Level 3 is as fast as the faster of the others, says so, and counts what it keeps only."""
    least = min(compiled(1)[0], compiled(2)[0])
    statistics.reset()
    time, said = compiled(3)
    assert time <= least
    assert any("of 3 orders the fastest is nc-unroll," in text for text in said)
    tried = statistics.snapshot()["nc-schedule"]["instructions"]
    statistics.reset()
    compiled(2)
    assert statistics.snapshot()["nc-schedule"]["instructions"] == tried


def test_level_2_is_not_slower_than_level_1() -> None:
    """Straight-line code is scheduled in level 1's window as well, and keeps the better order."""
    statistics.reset()
    assert compiled(2)[0] <= compiled(1)[0]
    assert statistics.snapshot()["nc-schedule"]["ns saved by a narrower window"] > 0


def test_slow_orders_are_dropped_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """nc-order-triggers runs for an order only if it may decide which one is the fastest."""
    called = counted(monkeypatch, NcOrderTriggersPass)

    def times(matter: float) -> int:
        called[0] = 0
        monkeypatch.setattr(orders, "TRIGGERS_MATTER", matter)
        compile_text(DENSE, "trn1", CompileOptions(optlevel=3))
        return called[0]

    assert times(float("inf")) == times(0.0) + 2  # for the two other orders


def test_large_programs_are_ordered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit the usual order stands, and a remark says so."""
    monkeypatch.setattr(orders, "LARGEST", 10)
    time, said = compiled(3)
    assert time == compiled(2)[0]
    assert any(text.startswith("one order is tried, not 3") for text in said)


def test_a_target_with_its_own_order_has_one() -> None:
    """Levels 1 and 2 try one order each; only the default pipeline has several."""
    target = get_target("trn1")
    assert [len(orders_of(target, level)) for level in (1, 2, 3)] == [1, 1, 3]


def test_a_fault_of_one_order_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are tried, and the user knows that one is missing."""
    order, called = NcSchedulePass.apply, [0]

    def apply(self: NcSchedulePass, ctx: Context, op: ModuleOp) -> None:
        called[0] += 1
        if called[0] == 2:
            raise ValueError("planted")
        order(self, ctx, op)

    monkeypatch.setattr(NcSchedulePass, "apply", apply)
    said: list[Message] = []
    with handling(said.append):
        compile_text(DENSE, "trn1", CompileOptions(optlevel=3, reproducers=False))
    (told,) = [message.text for message in said if message.fault]
    assert "in pass 'nc-schedule': ValueError: planted; not ordered by nc-unroll," in told


TILED = """
HloModule m
ENTRY main {
  x = f32[2048,1024] parameter(0)
  t = f32[1024,2048] transpose(x), dimensions={1,0}
  y = f32[1024,2048] parameter(1)
  a = f32[1024,2048] add(t, y)
  e = f32[1024,2048] exponential(a)
  ROOT s = f32[1024,2048] subtract(e, y)
}
"""


def test_paths_are_compared_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """All orders are tried for the path that is chosen, and the counts are those of its result."""
    called = counted(monkeypatch, NcSchedulePass)
    statistics.reset()
    said: list[Message] = []
    with handling(said.append):
        result = compile_text(TILED, "trn1", CompileOptions(optlevel=3))
    assert result.tiled and any("of 3 orders" in message.text for message in said)
    paths = 2 if any(" us, without it " in message.text for message in said) else 1
    again = called[0] - paths - 2  # an order that is not the first one is repeated
    assert again in (0, 1)
    assert "tile-fuse" in statistics.snapshot()


def test_other_orders_if_the_first_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    order, called = NcSchedulePass.apply, [0]

    def apply(self: NcSchedulePass, ctx: Context, op: ModuleOp) -> None:
        called[0] += 1
        if called[0] <= 2:  # by itself, and among all
            raise NeuronError("NIR_NC001", "planted")
        order(self, ctx, op)

    monkeypatch.setattr(NcSchedulePass, "apply", apply)
    result = compile_text(DENSE, "trn1", CompileOptions(optlevel=3))
    assert result.program is not None and called[0] == 5
