"""Bound the time of an nc program from below by the work of its engines, before it is ordered."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

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
            known[name] = _of_ops(blocks[name].ops, machine, of_call)
        return known[name]

    def of_call(name: str) -> Work:
        if name not in blocks:
            return defaultdict(float)
        called.add(name)
        return of_function(name)

    total: Work = defaultdict(float)
    for name in blocks:
        of_function(name)
    for name, work in known.items():
        if name not in called:
            _add(total, work)
    return _bound(total)


def least_work_of_ops_ns(ops: Iterable[Operation], machine: Machine) -> float:
    """Return the same bound of ops that call no function."""
    return _bound(_of_ops(ops, machine, lambda _: defaultdict(float)))


def _of_ops(ops: Iterable[Operation], machine: Machine, of_call: Callable[[str], Work]) -> Work:
    work: Work = defaultdict(float)
    for op in ops:
        if isinstance(op, LoopOp):
            _add(work, _of_ops(body_of(op).ops, machine, of_call), trip_count(op))
        elif isinstance(op, CallOp):
            _add(work, of_call(op.callee.root_reference.data))
        elif isinstance(op, InstructionOp):
            spent = cost(shape_record(op), machine)
            if spent.descriptors:
                work[DMA] += spent.dma_load_ns / machine.dma_engines
            else:
                work[engine_of(op)] += spent.issue_ns
    return work


def _bound(work: Work) -> float:
    vector = sum(work[engine] for engine in VECTOR) / len(VECTOR)
    return max(work[Engine.PE], vector, work[DMA])


def _add(work: Work, more: Work, times: int = 1) -> None:
    for engine, ns in more.items():
        work[engine] += times * ns
