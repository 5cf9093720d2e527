"""Order strands: copies of a program's ops on slices of its batch, which run in parallel.

The tensor engine and the vector engines each run the ops of all strands in sequence. In a strand,
each op waits for the previous one. The dots of one strand thus overlap the softmax of another.
Times are estimates by size alone, because layouts are not known yet.
"""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.flops import useful_flops
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layers.repetition import find_repetitions
from neuronir.passes.lowering.products.epilogue import COMPOSITES
from neuronir.passes.lowering.streaming.size import VIEWS
from neuronir.passes.statistics import record

PASSES_OF_SOFTMAX = 4
"""Passes of a softmax over its data: maximum, difference, exponential, division."""
PASSES_OF_NORM = 2
"""Passes of a norm: statistics, and their application."""
LEAST_GAIN = 0.1
"""The fraction of the time that overlapping must save."""


def interleaved(
    ops: Sequence[Operation], strands: int, machine: Machine, *, ahead: bool = False
) -> list[tuple[int, Operation]]:
    """Order (strand, op) of all copies by the time at which they can start.

    Among copies that can start at the same time, the one with the least tensor work before a vector
    phase comes first, as in a two-machine flow shop. The longer dots of the other strands then
    overlap that phase. With `ahead`, each strand is emitted up to its first dot before the next
    strand, so that dots need not wait for the other strands.
    """
    works = [(tensor_ns(op, machine) / strands, vector_ns(op, machine) / strands) for op in ops]
    first = _before_products(ops, machine) if ahead else 0
    runs = [0.0] * (len(ops) + 1)
    for i in range(len(ops) - 1, -1, -1):
        tensor, vector = works[i]
        runs[i] = 0.0 if vector and not tensor else tensor + runs[i + 1]
    following = [0] * strands
    ready = [0.0] * strands
    tensor = vector = 0.0
    out: list[tuple[int, Operation]] = []
    while len(out) < strands * len(ops):
        best = min(
            (s for s in range(strands) if following[s] < len(ops)),
            key=lambda s: (
                _start(works[following[s]], ready[s], tensor, vector),
                (runs[following[s]], following[s]) if following[s] >= first else (0.0, -1),
                s,
            ),
        )
        work = works[following[best]]
        start = _start(work, ready[best], tensor, vector)
        if work[0]:
            tensor = start + work[0]
        elif work[1]:
            vector = start + work[1]
        ready[best] = start + (work[0] or work[1])
        out.append((best, ops[following[best]]))
        following[best] += 1
    return out


def estimate_ns(
    order: Sequence[tuple[int, Operation]], strands: int, machine: Machine
) -> tuple[float, float]:
    """Return the times (ns) of all copies with alternating and with overlapping engines."""
    tensor = vector = lockstep = 0.0
    ready = [0.0] * strands
    for strand, op in order:
        work = tensor_ns(op, machine) / strands, vector_ns(op, machine) / strands
        start = _start(work, ready[strand], tensor, vector)
        took = work[0] or work[1]
        if work[0]:
            tensor = start + took
        elif work[1]:
            vector = start + took
        ready[strand] = start + took
        lockstep += took
    return lockstep, max(ready)


def in_layers(
    block: Block, ops: Sequence[Operation], strands: int, machine: Machine
) -> list[tuple[int, Operation]]:
    """Order (strand, op) of all copies of `ops` (in block order) so that layers stay repeated.

    A layer of all strands follows the previous layer, and all layers have the same order.
    """
    chosen = set(ops)
    # what to emit after the last op of a layer
    ends: dict[Operation, list[tuple[int, Operation]]] = {}
    inside: set[Operation] = set()
    place = {op: i for i, op in enumerate(ops)}
    for found in find_repetitions(block):
        if not all(chosen.issuperset(layer) for layer in found.layers):
            continue
        template = sorted(found.layers[-1], key=lambda op: place[op])
        number = {op: i for i, op in enumerate(found.layers[-1])}
        order = [(s, number[op]) for s, op in interleaved(template, strands, machine)]
        for layer in found.layers:
            inside.update(layer)
            ends[max(layer, key=lambda op: place[op])] = [(s, layer[i]) for s, i in order]
        record("hlo-split-batch", "layers in one order", len(found.layers))
    out: list[tuple[int, Operation]] = []
    between: list[Operation] = []
    for op in ops:
        if op not in inside:
            between.append(op)
        elif op in ends:
            copies = ends[op]
            if not out:
                needed, copies = _first_layer(copies, machine)
                between += needed
            out += interleaved(between, strands, machine, ahead=True)
            out += copies
            between = []
    return out + interleaved(between, strands, machine, ahead=True)


def _first_layer(
    layer: list[tuple[int, Operation]], machine: Machine
) -> tuple[list[Operation], list[tuple[int, Operation]]]:
    """Return the ops that the first dot of the first layer needs, and the other ops.

    The former belong to the preceding ops. The others are in order for all strands, with ops that
    the dot does not need last.
    """
    ops = [op for strand, op in layer if strand == 0]
    count = _before_products(ops, machine)
    if count == len(ops):
        return [], layer
    first = ops[count]
    needed: set[Operation] = set()
    pending: list[Operation] = [first]
    while pending:
        made = (v.owner for v in pending.pop().operands)
        found = [o for o in made if isinstance(o, Operation) and o in ops and o not in needed]
        needed.update(found)
        pending += found
    later = [op for op in ops[:count] if op not in needed]
    out: list[tuple[int, Operation]] = []
    for strand, op in layer:
        if op not in needed and op not in later:
            out.append((strand, op))
        if op is first:
            out += [(strand, o) for o in later]
    return [op for op in ops if op in needed], out


def _before_products(ops: Sequence[Operation], machine: Machine) -> int:
    """Return how many ops precede the first tensor engine op."""
    return next((i for i, op in enumerate(ops) if tensor_ns(op, machine)), len(ops))


def _start(work: tuple[float, float], ready: float, tensor: float, vector: float) -> float:
    if work[0]:
        return max(ready, tensor)
    return max(ready, vector) if work[1] else ready


def worthwhile(ops: Sequence[Operation], machine: Machine) -> bool:
    """Return whether two strands are estimated to be faster.

    Their dots must not cost PE more (columns still fill its blocks), and the overlapped vector
    phases must be long enough to matter.
    """
    tensor = sum(tensor_ns(op, machine) for op in ops)
    vector = sum(vector_ns(op, machine) for op in ops)
    wide = 2 * machine.matmul_max_moving
    narrow = sum(tensor_ns(op, machine) for op in ops if _columns(op) < wide)
    saved = min(tensor, vector) / 2
    return narrow <= LEAST_GAIN * tensor and saved > LEAST_GAIN * (tensor + vector)


def _columns(op: Operation) -> int:
    """Return the columns of one operand of a dot per tile of the other; batched dots are split
    anyway.
    """
    if not isinstance(op, DotOp) or ints(op.lhs_batch_dims):
        return 1 << 30
    contracted = ints(op.lhs_contracting_dims)
    return prod(n for d, n in enumerate(shape_of(op.operands[0])) if d not in contracted)


def tensor_ns(op: Operation, machine: Machine) -> float:
    """Return the PE time if each full row of moving columns has its own stationary operand."""
    moving = machine.matmul_max_moving
    load = machine.matmul_overhead_cycles + machine.pe_columns / machine.stationary_load_divisor
    return useful_flops(op) / machine.peak_flops_bf16 * 1e9 * (moving + load) / moving


def vector_ns(op: Operation, machine: Machine) -> float:
    """Return the DVE time: one element of each partition per cycle.

    Dots and elementwise ops that their eviction computes take no time, nor do arguments, which DMA
    converts.
    """
    if op.name == "hlo.convert" and isinstance(op.operands[0], BlockArgument):
        return 0.0
    if op.name in VIEWS or not isinstance(op.results[0].type, TensorType) or _evicted(op):
        return 0.0
    passes = 1
    if isinstance(op, CompositeOp) and op.kind.data not in COMPOSITES:
        softmax = op.kind.data == "softmax"
        passes = PASSES_OF_SOFTMAX if softmax else PASSES_OF_NORM - _shares_statistics(op)
    size = max(prod(shape_of(v)) for v in (*op.operands, *op.results))
    return passes * size / machine.partitions / machine.dve_ghz


def _shares_statistics(op: CompositeOp) -> bool:
    """Return whether a norm of the same values precedes it."""
    alike = [use.operation for use in op.operands[0].uses]
    return any(
        isinstance(o, CompositeOp) and o.kind == op.kind and o.is_before_in_block(op)
        for o in alike
        if o is not op and o.parent is op.parent
    )


def _evicted(op: Operation) -> bool:
    while not isinstance(op, DotOp):
        owners = [v.owner for v in op.operands if v.has_one_use()]
        made = [o for o in owners if isinstance(o, Operation) and o.name != "hlo.broadcast"]
        composite = isinstance(op, CompositeOp) and op.kind.data not in COMPOSITES
        if composite or op.name == "hlo.reduce" or len(made) != 1:
            return False
        op = made[0]
    return True
