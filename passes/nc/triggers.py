"""Let other engines help SP to start transfers if SP would be the bound of a block."""

from xdsl.ir import Block, SSAValue

from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import shape_record
from neuronir.dialects.nc.structure import AddressOfOp, CallOp
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.dialects.support.walking import ops_of
from neuronir.passes.nc.engines import LOADS, QueueAllotter, start_by
from neuronir.passes.statistics import record

_HELPERS = {Engine.ACT: Engine.DMA11, Engine.PE: Engine.DMA15}
"""Compute engines that also trigger transfers, each with a DMA queue. DVE and POOL are excluded:
they share a port, and POOL triggers the stores.
"""


def choose_triggers(block: Block, machine: Machine, queues: QueueAllotter) -> None:
    """Let other engines start loads of arguments, array by array, if SP has more work than any
    other resource in an iteration of an innermost loop or in straight-line code.
    """
    for op in ops_of(block):
        if isinstance(op, LoopOp):
            choose_triggers(body_of(op), machine, queues)
    if any(isinstance(op, LoopOp | CallOp) for op in ops_of(block)):
        return
    busy = dict.fromkeys((e for e in Engine if not e.is_dma), 0.0)
    moved_ns = 0.0
    arrays: dict[SSAValue | str, list[InstructionOp]] = {}
    for op in ops_of(block):
        if not isinstance(op, InstructionOp) or op.engine is None:  # a register load
            continue
        done = shape_record(op)
        spent = cost(done, machine)
        busy[done.stream] += spent.issue_ns
        if done.engine.is_dma:
            moved_ns += spent.dma_load_ns / machine.dma_engines
            if done.engine in LOADS and done.stream is Engine.SP:
                arrays.setdefault(_array(op), []).append(op)
    helpers = [
        e for e, queue in _HELPERS.items() if e.name in machine.engines and _there(queue, machine)
    ]
    bound = max(moved_ns, *(time for engine, time in busy.items() if engine is not Engine.SP))
    for loads in sorted(arrays.values(), key=len, reverse=True) if helpers else ():
        time = len(loads) * machine.dma_trigger_ns
        helper = min(helpers, key=lambda e: (busy[e], e))
        queue = _HELPERS[helper]
        if busy[Engine.SP] <= bound or queues.owners.setdefault(queue, helper) is not helper:
            break
        if busy[helper] + time >= busy[Engine.SP]:
            continue
        for op in loads:
            start_by(op, queue, helper)
        busy[helper] += time
        busy[Engine.SP] -= time
        bound = max(bound, busy[helper])
        record("nc-assign-engines", f"loads that {helper.name} starts", len(loads))


def _there(queue: Engine, machine: Machine) -> bool:
    """Return whether a machine has a DMA queue."""
    return queue - Engine.DMA0 < machine.dma_queues


def _array(op: InstructionOp) -> SSAValue | str:
    """Return the variable that a load reads."""
    source = op.operands[1]
    if isinstance(source.owner, AddressOfOp):
        return source.owner.variable.root_reference.data
    return source
