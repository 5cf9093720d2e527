"""What a pass does wrong is found at the border of its phase, in every compile."""

from collections.abc import Sequence
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import AllocOp
from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.pass_runner import RunFailure
from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.dependence import Predecessors, dependences
from neuronir.passes.nc.listing import Bounds, Buffer, Node
from neuronir.passes.nc.schedule import NcSchedulePass
from neuronir.passes.nc.synchronise import NcSynchronisePass
from tests.driver.models import DENSE

OPTIONS = CompileOptions(auto_cast="none")


@pytest.fixture(autouse=True)
def no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours leaves a reproducer, which takes its time."""
    monkeypatch.setattr("neuronir.driver.compiler.write_reproducer", lambda *args: None)


def _refused(code: str, said: str) -> None:
    with pytest.raises(RunFailure) as caught:
        compile_text(DENSE, "trn1", OPTIONS)
    assert caught.value.internal
    text = caught.value.diagnostic.text
    assert text.startswith("internal error: ") and code in text and said in text, text


def test_a_dependence_that_the_scheduler_does_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks do not take the scheduler's word for what depends on what."""

    def blind(
        nodes: Sequence[Node], buffers: Sequence[Buffer], bounds: Bounds, **kw: Any
    ) -> Predecessors:
        found = dependences(nodes, buffers, bounds, **kw)
        evictions = [n.record is not None and n.record.opcode == "activation" for n in nodes]
        return [{} if free else d for free, d in zip(evictions, found, strict=True)]

    monkeypatch.setattr("neuronir.passes.nc.order_block.dependences", blind)
    _refused("NIR_NC011", "reads other values than in the order before")


def test_two_buffers_at_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    right = NcAllocatePass.apply

    def wrong(self: NcAllocatePass, ctx: Context, op: ModuleOp) -> None:
        right(self, ctx, op)
        allocs = [o for o in op.walk() if isinstance(o, AllocOp) and "sbuf" in str(o.buffer.type)]
        for alloc in allocs:
            alloc.properties["address"] = allocs[0].properties["address"]

    monkeypatch.setattr(NcAllocatePass, "apply", wrong)
    _refused("NIR_NC011", "'nc-assign-queues' made a wrong program")


def test_an_engine_that_cannot_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    right = NcSchedulePass.apply

    def wrong(self: NcSchedulePass, ctx: Context, op: ModuleOp) -> None:
        right(self, ctx, op)
        for o in op.walk():
            if isinstance(o, InstructionOp) and o.opcode() == "matmul":
                o.properties["engine"] = StringAttr("act")

    monkeypatch.setattr(NcSchedulePass, "apply", wrong)
    _refused("NIR_NC010", "act cannot run matmul")


def test_an_order_that_waits_do_not_know_of(monkeypatch: pytest.MonkeyPatch) -> None:
    right = NcSynchronisePass.apply

    def wrong(self: NcSynchronisePass, ctx: Context, op: ModuleOp) -> None:
        right(self, ctx, op)
        last = [o for o in op.walk() if isinstance(o, InstructionOp)][-1]
        block = last.parent
        assert block is not None
        last.detach()
        first = next(o for o in block.ops if isinstance(o, InstructionOp))
        block.insert_op_before(last, first)

    monkeypatch.setattr(NcSynchronisePass, "apply", wrong)
    _refused("NIR_NC011", "")
