"""Allocate sequencer registers: a number for each value that register_load loads, per engine."""

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import REGISTER
from neuronir.dialects.support.errors import NeuronError


class Registers:
    """The register numbers of one function, from `base` (by engine) up, reused after the last use.

    `high` is one more than the largest number in use, by engine.
    """

    def __init__(self, base: dict[Engine, int]) -> None:
        self.base = base
        self.high = dict(base)
        self._taken: dict[Engine, set[int]] = {}
        self._engines: dict[SSAValue, Sequence[Engine]] = {}
        self._ends: dict[Operation, list[tuple[Engine, int]]] = {}

    def define(self, op: Operation, engines: Sequence[Engine]) -> tuple[int, int]:
        """Return the number and the symbol of the value that `op` loads, the same on all
        `engines`.
        """
        taken = [self._taken.setdefault(engine, set()) for engine in engines]
        number = max((self.base.get(engine, 0) for engine in engines), default=0)
        while any(number in numbers for numbers in taken):
            number += 1
        value = op.results[0]
        self._engines[value] = engines
        last = self._ends.setdefault(_last_use(value, op), [])
        for engine, numbers in zip(engines, taken, strict=True):
            numbers.add(number)
            self.high[engine] = max(self.high.get(engine, 0), number + 1)
            last.append((engine, number))
        return number, REGISTER + number

    def passed(self, op: Operation) -> None:
        """Free the registers whose last use was in `op`."""
        for engine, number in self._ends.pop(op, ()):
            self._taken[engine].discard(number)

    def check_use(self, value: SSAValue, engine: Engine, op: Operation) -> None:
        """Raise NIR_ENC006 if `engine` uses a value in another engine's register."""
        owners = self._engines.get(value)
        if owners is not None and engine not in owners:
            raise NeuronError(
                "NIR_ENC006",
                f"the nc module cannot be encoded: {op.name} on {engine.name} uses a register of "
                f"{owners[0].name}",
                help="each engine loads its own registers: one nc.register_load an engine",
            )


def _last_use(value: SSAValue, definition: Operation) -> Operation:
    """Return the last op in the definition's block that uses `value`, itself or in its regions."""
    block = definition.parent
    users = {_in_block(use.operation, block) for use in value.uses}
    last = definition
    op: Operation | None = definition
    while op is not None:
        if op in users:
            last = op
        op = op.next_op
    return last


def _in_block(op: Operation, block: Block | None) -> Operation:
    """Return the op of `block` that contains `op`."""
    while op.parent is not block:
        parent = op.parent_op()
        if parent is None:
            break
        op = parent
    return op
