"""Keep software pipelines filled across the iterations of an outer loop.

A pipelined loop inside an outer loop fills and drains once for each outer iteration, which takes as
long as `stages - 1` inner iterations. If the dependences allow it, the outer loop is unrolled by a
small factor, and the epilogue of one iteration is merged with the prologue of the next:

    for h {                             for h by 2 {
      load k[h]                           load k[h];          prologue(h);   kernel(h)
      prologue(h)                 ->      load k[h + 1];
      kernel(h)                           epilogue(h) with prologue(h + 1);  kernel(h + 1)
      epilogue(h)                         epilogue(h + 1)
    }                                   }

Iteration `t` of the inner loop in iteration `h` of the outer loop is then iteration `h * trips + t`
of a single pipeline, so the modulo schedule also preserves the order across outer iterations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.structure import ROLLED, AllocOp
from neuronir.passes.nc.carried import Analysis, Dependence
from neuronir.passes.nc.listing import Listing, Node
from neuronir.passes.nc.liveness import rounded
from neuronir.passes.nc.pipeline_plan import Plan
from neuronir.passes.nc.prefetch import PREFETCHED

_LARGEST_GROUP = 2000
"""Limit of instructions of the unrolled iterations."""

_WORTH = 0.02
"""The share of the time that further unrolling must save."""


Found = Sequence[Mapping[tuple[int, int], Dependence]]
"""The dependences of an instruction, by its position."""


@dataclass(frozen=True, slots=True)
class Nest:
    """A pipelined loop, its outer loop, and the ops of the outer loop before and after it.

    `rounds` is the unroll factor of the outer loop. `loads` are its first ops, which can run one
    iteration ahead. `buffers` are the buffers that the outer loop allocates; `lasting` are those
    that two overlapping iterations use.
    """

    outer: Node
    loop: Node
    loads: Sequence[Node]
    before: Sequence[Node]
    after: Sequence[Node]
    rounds: int
    buffers: Sequence[int]
    lasting: frozenset[int]

    @property
    def fills(self) -> float:
        """Return how often the pipeline is filled per outer iteration."""
        return -(-self.outer.trip_count // self.rounds) / self.outer.trip_count


def carried_around(listing: Listing, loop: Node, places: int) -> tuple[Node, Found] | None:
    """Return the outer loop and the dependences in its iterations; None if there is none.

    `places` is the number of instructions of the function.
    """
    outer = next((n for n in listing.loops if any(m is loop for m in n.body)), None)
    if outer is None or not isinstance(outer.op, scf.ForOp) or outer.counted:
        return None
    return outer, Analysis(listing, places).run_loop(outer)


def find_nest(listing: Listing, outer: Node, loop: Node, found: Found, plan: Plan) -> Nest | None:
    """Return a pipelined loop with its outer loop, if pipelining across it is legal and profitable.

    `found` are the dependences of the instructions.
    """
    others = [n for n in outer.body if n is not loop]
    if {PREFETCHED, ROLLED} & set(outer.op.attributes):
        return None
    if any(n.record is None or n.op.results for n in others):
        return None
    at = next(i for i, n in enumerate(outer.body) if n is loop)
    before, after = outer.body[:at], outer.body[at + 1 :]
    rounds = _rounds(outer, loop, plan, len(others))
    if rounds < 2:
        return None
    buffers = [b for b in listing.buffers if b.loop == outer.loop]
    if any(not isinstance(b.op, AllocOp) or b.space == Space.PSUM for b in buffers):
        return None
    if sum(rounded(b.size) for b in buffers) > plan.spare[0]:
        return None
    if not _allowed(found, outer, loop, plan):
        return None
    keys = [b.key for b in buffers]
    loads = [n for n in before if n.record is not None and _is_load(n, found)]
    first = {n.index for n in loads}
    lasting = loop.touched | {a.buffer for n in loads for a in n.accesses}
    rest = [n for n in before if n.index not in first]
    return Nest(outer, loop, loads, rest, after, rounds, keys, lasting & frozenset(keys))


def _rounds(outer: Node, loop: Node, plan: Plan, others: int) -> int:
    """Return the unroll factor of the outer loop with the fewest pipeline fills, within the limit
    of code size.

    The result is 1 if unrolling is not profitable.
    """
    begin, body = plan.last_stage, len(loop.body)
    kernels = (loop.trip_count - begin) // plan.depth
    steps = loop.trip_count - (kernels - 1) * plan.depth
    size = steps * body + others
    whole = float(outer.trip_count * (loop.trip_count + begin))
    best, least = 1, whole
    for rounds in range(2, min(outer.trip_count, _LARGEST_GROUP // size) + 1):
        groups, rest = divmod(outer.trip_count, rounds)
        if (rounds * (groups > 0) + rest) * size > _LARGEST_GROUP:
            continue
        time = outer.trip_count * loop.trip_count + (groups + (rest > 0)) * begin
        if time < least - _WORTH * whole:
            best, least = rounds, float(time)
    return best


def _is_load(node: Node, found: Found) -> bool:
    """Return whether an instruction is a transfer without dependences in the outer loop."""
    assert node.record is not None
    return node.record.opcode == "dma" and not found[node.place]


def _allowed(found: Found, outer: Node, loop: Node, plan: Plan) -> bool:
    """Return whether the new order respects the dependences carried by the outer loop.

    In the new order, ops before the inner loop come before the first step of their outer iteration,
    hence after the last stage 0 of the previous one. Ops after the inner loop come after the
    prologue of the next outer iteration.
    """
    number = {n.place: i for i, n in enumerate(loop.body)}
    before = {n.place for n in outer.body if n.record is not None and n.place < loop.body[0].place}
    steps = _steps(plan)
    return all(
        _kept(d.before, place, number, before, steps)
        for place in sorted([*number, *(n.place for n in outer.body if n.record is not None)])
        for d in found[place].values()
        if d.loop == outer.loop and d.distance
    )


def _steps(plan: Plan) -> list[tuple[int, float, int, int]]:
    """Return the step in which an instruction of iteration 0 runs, and its position there."""
    return [
        (stage, offset, -stage, i)
        for i, (stage, offset) in enumerate(zip(plan.stages, plan.offsets, strict=True))
    ]


def _kept(
    first: int,
    second: int,
    number: Mapping[int, int],
    before: set[int],
    steps: Sequence[tuple[int, float, int, int]],
) -> bool:
    """Return whether the instruction at `first` precedes the one at `second` of the next
    iteration.
    """
    if first in before:
        return True
    if first not in number:  # after the loop
        return second not in number and second not in before
    if second in before:
        return steps[number[first]][0] == 0
    if second not in number:
        return True
    stage, *place = steps[number[second]]
    return (stage + 1, *place) > steps[number[first]]
