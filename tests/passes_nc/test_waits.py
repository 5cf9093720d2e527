"""nc-synchronise: an instruction waits for each transfer that it depends on, and can tell which."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.synchronise import NcSynchronisePass
from tests.passes_nc.ordering import ordering
from tests.passes_nc.programs import Program, rows, tile
from tests.passes_nc.trace import check_synchronised

LOADS = 5


def _sums() -> ModuleOp:
    """The sum of as many inputs, each loaded by a transfer of its own."""
    p = Program()
    y = p.variable("y", "output", (128, 64))
    loaded = []
    for k in range(LOADS):
        x = p.variable(f"x{k}", "input", (128, 64), index=k)
        loaded.append(p.sbuf((128, 64)))
        p.copy(tile(loaded[-1], 64), rows(x, 64, 64))
    total = loaded[0]
    for other in loaded[1:]:
        out = p.sbuf((128, 64))
        p.add(tile(out, 64), tile(total, 64), tile(other, 64))
        total = out
    p.copy(rows(y, 64, 64), tile(total, 64))
    return p.finish()


def test_a_wait_for_one_transfer_is_no_wait_for_another() -> None:
    module = _sums()
    steps = (*ordering(), NcAssignBanksPass(), NcAllocatePass(), NcSynchronisePass())
    for step in steps:
        step.apply(Context(), module)
    adds = [
        op
        for op in module.walk()
        if isinstance(op, InstructionOp) and op.opcode() == "tensor_tensor"
    ]
    waits = [str(wait) for op in adds for wait in (op.waits.data if op.waits else ())]
    assert len(set(waits)) == LOADS


def test_transfers_under_way_share_no_semaphore() -> None:
    """When both buffers are loaded again, only the first loads are known to be complete."""
    p = Program()
    y = p.variable("y", "output", (256, 64))
    loaded = [p.sbuf((128, 64)) for _ in range(2)]
    for half in range(2):
        for k, buffer in enumerate(loaded):
            x = p.variable(f"x{half}{k}", "input", (128, 64), index=2 * half + k)
            p.copy(tile(buffer, 64), rows(x, 64, 64))
        out = p.sbuf((128, 64))
        p.add(tile(out, 64), *(tile(buffer, 64) for buffer in loaded))
        p.copy(rows(y, 64, 64, offset=half * 128 * 64), tile(out, 64))
    module = p.finish()
    for step in (*ordering(), NcAssignBanksPass(), NcAllocatePass(), NcSynchronisePass()):
        step.apply(Context(), module)
    check_synchronised(module)
