"""Program order by demand: what an instruction needs comes right before it.

Lowering emits op after op, each as a whole: the products of all heads, then all their softmaxes. By
demand the parts of an op come when the first of what follows needs them, so that the beginning of
an op's work lies beside the end of the work before it. Products that share a stationary stay
together.
"""

from collections.abc import Sequence

from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.passes.nc.dependence import Predecessors


def demand_order(
    records: Sequence[Instruction], predecessors: Predecessors, sharing: int = 1 << 30
) -> list[int]:
    """The instructions in the order in which the last ones demand them; dependences hold in it.
    At most `sharing` products of a stationary stay together: each takes a bank of PSUM.

    Where nothing depends on an instruction it is one of the last: they keep their order, and so do
    the predecessors of each instruction, those whose data it needs before those that only must not
    come after it.
    """
    n = len(records)
    needed = bytearray(n)
    for found in predecessors:
        for i in found:
            needed[i] = 1
    together = _sharing(records, sharing)
    sums = _sums(records, predecessors)
    order: list[int] = []
    seen = bytearray(n)
    for last in range(n):
        if needed[last] or seen[last]:
            continue
        stack = [last]
        while stack:
            i = stack[-1]
            if seen[i] == 2:
                stack.pop()
                continue
            if seen[i]:
                stack.pop()
                seen[i] = 2
                order.append(i)
                stack.extend(
                    j
                    for j in reversed(together.get(i, ()))
                    if not seen[j] and _can_follow(j, predecessors, seen)
                )
                continue
            seen[i] = 1
            # the last one pushed comes first: data, then those that only have to be over
            before = sorted(predecessors[i].items(), key=lambda item: (item[1], -item[0]))
            # what is to come with the rest of a sum goes in between
            later = [
                j for j in sums.get(i, ()) if not seen[j] and _can_follow(j, predecessors, seen)
            ]
            stack.extend(reversed(later))
            stack.extend(j for j, _ in before if not seen[j])
    return order


def _can_follow(last: int, predecessors: Predecessors, seen: Sequence[int]) -> bool:
    """Whether an instruction needs nothing that itself waits for what is being ordered."""
    found = {last}
    stack = [last]
    while stack:
        for j in predecessors[stack.pop()]:
            if seen[j] == 1:
                return False
            if not seen[j] and j not in found:
                found.add(j)
                stack.append(j)
    return True


def _sums(records: Sequence[Instruction], predecessors: Predecessors) -> dict[int, list[int]]:
    """Of a product that begins a sum in PSUM what the others of the sum need, so that no other work
    comes between them while they hold their bank."""
    out: dict[int, list[int]] = {}
    first = -1
    for i, record in enumerate(records):
        if record.opcode != "matmul":
            continue
        if record.params.get("accumulate") and first >= 0 and record.dst == records[first].dst:
            out.setdefault(first, []).extend(
                j for j, data in predecessors[i].items() if data and records[j].opcode != "matmul"
            )
        else:
            first = i
    return out


def _sharing(records: Sequence[Instruction], most: int) -> dict[int, list[int]]:
    """Of a product the ones that follow it on PE with the same stationary, `most` with it."""
    out: dict[int, list[int]] = {}
    first, stationary = -1, None
    for i, record in enumerate(records):
        if record.opcode not in ("matmul", "transpose"):
            continue
        mine: AccessPattern | None = record.src[0] if record.opcode == "matmul" else None
        if mine is not None and mine == stationary and len(out.get(first, ())) < most - 1:
            out.setdefault(first, []).append(i)
        else:
            first, stationary = i, mine
    return out
