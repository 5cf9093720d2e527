"""Share PSUM banks in a loop: each op of its body rotates through its own banks.

The next iteration of an op can start once its own results have left PSUM, while later ops of the
current iteration still run. Iterations can thus overlap (nc-pipeline).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.records import partition_bytes, space_of
from neuronir.dialects.nc.structure import AllocOp
from neuronir.passes.nc.pack import Item, liveness_bound


@dataclass(frozen=True)
class Request:
    """A bank that an op has requested: a separate buffer, for now."""

    op: Operation
    bank: SSAValue


def shares(counts: Sequence[int], banks: int) -> list[int]:
    """Return the number of banks for each op, given how many it requests.

    Each gets at least one, and two if possible, so that one is filled while the other is read.
    Further banks go to the op with the fewest relative to its requests.
    """
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


def held(loop: Operation, requests: Sequence[Request], machine: Machine) -> int:
    """Return the maximum number of banks that other buffers of a loop hold at once, such as the
    masks of a sort.
    """
    shared = {r.bank for r in requests}
    lives: dict[SSAValue, Item] = {}
    for place, op in enumerate(loop.walk()):
        if isinstance(op, AllocOp) and op.buffer not in shared:
            if space_of(op.buffer) is Space.PSUM:
                banks = -(-partition_bytes(op.buffer.type) // machine.psum_bank_bytes)
                lives[op.buffer] = Item(len(lives), banks, place, place)
        for value in op.operands:
            if value in lives:
                lives[value].last = place
    return liveness_bound(list(lives.values()))


def assign(requests: Sequence[Request], slots: Sequence[SSAValue]) -> None:
    """Share the banks among the ops of each block; blocks, which run in sequence, reuse them."""
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
