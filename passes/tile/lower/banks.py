"""Banks of PSUM in a loop: each op of its body has some of its own, which it takes in turn.

The next round of an op can begin when its own results have left PSUM, while ops that come later in
the round before are still at work: so rounds overlap (nc-order).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue


@dataclass(frozen=True)
class Request:
    """A bank that an op has asked for: a buffer of its own, for now."""

    op: Operation
    bank: SSAValue


def shares(counts: Sequence[int], banks: int) -> list[int]:
    """How many banks each of some ops gets: one at least, two where there are enough, so that one
    is filled while the other one is read; the next one goes to the op that has fewest for what it
    asks."""
    got = [1] * len(counts)
    for _ in range(banks - len(counts)):
        most = max(
            range(len(counts)),
            key=lambda i: (got[i] == 1 < counts[i], counts[i] / got[i], -i),
            default=None,
        )
        if most is None or got[most] >= counts[most]:
            break
        got[most] += 1
    return got


def assign(requests: Sequence[Request], slots: Sequence[SSAValue]) -> None:
    """Let the ops of each block share the banks; blocks, of which one runs after the other, have
    the same ones."""
    blocks: dict[Block | None, dict[Operation, list[SSAValue]]] = {}
    for r in requests:
        blocks.setdefault(r.op.parent, {}).setdefault(r.op, []).append(r.bank)
    for by_op in blocks.values():
        got = shares([len(banks) for banks in by_op.values()], len(slots))
        first = 0
        for banks, n in zip(by_op.values(), got, strict=True):
            for i, bank in enumerate(banks):
                slot = slots[(first + i % n) % len(slots)]
                bank.replace_all_uses_with(slot)
            first += n
