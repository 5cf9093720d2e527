"""Bound the time of an nc program from below by the work of its engines, before it is ordered."""

from collections import defaultdict

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import shape_record
from neuronir.dialects.nc.structure import CallOp
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.passes.nc.data_flow import engine_of
from neuronir.passes.nc.listing import functions, trip_count

VECTOR = (Engine.ACT, Engine.DVE, Engine.POOL)
"""Engines between which later passes move work."""
DMA = "dma"

Work = defaultdict[Engine | str, float]


def least_work_ns(module: ModuleOp, machine: Machine) -> float:
    """Return a lower bound in ns of the time of a module in phase `virtual`.

    It is the largest of the work of PE, an equal share of the vector engines' work, and the work of
    the DMA engines.
    """
    blocks = {f.sym_name.data: f.body.block for f in functions(module)}
    known: dict[str, Work] = {}
    called: set[str] = set()

    def of_function(name: str) -> Work:
        if name not in known:
            known[name] = defaultdict(float)  # another pass rejects recursion
            known[name] = of_block(blocks[name])
        return known[name]

    def of_block(block: Block) -> Work:
        work: Work = defaultdict(float)
        for op in block.ops:
            if isinstance(op, LoopOp):
                _add(work, of_block(body_of(op)), trip_count(op))
            elif isinstance(op, CallOp) and op.callee.root_reference.data in blocks:
                called.add(op.callee.root_reference.data)
                _add(work, of_function(op.callee.root_reference.data))
            elif isinstance(op, InstructionOp):
                spent = cost(shape_record(op), machine)
                if spent.descriptors:
                    work[DMA] += spent.dma_load_ns / machine.dma_engines
                else:
                    work[engine_of(op)] += spent.issue_ns
        return work

    total: Work = defaultdict(float)
    for name in blocks:
        of_function(name)
    for name, work in known.items():
        if name not in called:
            _add(total, work)
    vector = sum(total[engine] for engine in VECTOR) / len(VECTOR)
    return max(total[Engine.PE], vector, total[DMA])


def _add(work: Work, more: Work, times: int = 1) -> None:
    for engine, ns in more.items():
        work[engine] += times * ns
