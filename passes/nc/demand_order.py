"""Compute a demand-driven program order: each instruction right after its operands.

Lowering emits each op as a whole: the products of all heads, then all their softmaxes. In demand
order, the parts of an op come when the first user needs them, so that the start of one op overlaps
the end of the previous one. Products that share a stationary operand stay together.
"""

from collections.abc import Sequence

from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.passes.nc.dependence import Predecessors


def demand_order(
    records: Sequence[Instruction], predecessors: Predecessors, sharing: int = 1 << 30
) -> list[int]:
    """Return the instructions in the order in which the final ones demand them.

    The order respects all dependences. At most `sharing` products of a stationary operand stay
    together, because each takes a bank of PSUM. Final instructions, on which nothing depends, keep
    their order. The predecessors of each instruction keep theirs as well, with data dependences
    before anti and output dependences.
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
            # The last one pushed comes first: data dependences, then the others.
            before = sorted(predecessors[i].items(), key=lambda item: (item[1], -item[0]))
            # what must come between the parts of a sum
            later = [
                j for j in sums.get(i, ()) if not seen[j] and _can_follow(j, predecessors, seen)
            ]
            stack.extend(reversed(later))
            stack.extend(j for j, _ in before if not seen[j])
    return order


def _can_follow(last: int, predecessors: Predecessors, seen: Sequence[int]) -> bool:
    """Return whether an instruction needs nothing that waits for an instruction being ordered."""
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
    """Return the instructions that the remaining products of a sum need, given the product that
    starts the sum in PSUM.

    It is placed first, so that no other work separates the products while they hold their bank.
    """
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
    """Return the products that follow on PE with the same stationary operand, `most` in all."""
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
