"""Unroll loops and calls, for machines whose sequencers have no control flow."""

from collections.abc import Sequence
from dataclasses import replace

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    REGISTER,
    AccessPattern,
    Affine,
    Instruction,
    Item,
    Loop,
    Program,
    Wait,
)
from neuronir.dialects.support.errors import NeuronError


def flatten(program: Program, max_instructions: int) -> Program:
    """Return an equivalent program of one function without loops, calls and registers.

    Raises NCC_EBVF030 if it has more than `max_instructions`, NIR_ENC004 if it needs registers.
    """
    expander = _Expander(program)
    count = sum(expander.count(e, items) for e, items in program.streams[program.entry].items())
    if count > max_instructions:
        raise NeuronError(
            "NCC_EBVF030",
            f"the program has {count} instructions once its loops are unrolled, as "
            f"{program.machine} has no control flow; at most {max_instructions} are possible",
            help="use a smaller model or a target with control flow (trn1)",
        )
    streams: dict[Engine, list[Item]] = {}
    for engine, items in program.streams[program.entry].items():
        out: list[Item] = []
        expander.run(engine, items, [0] * REGISTER, 0, out)
        streams[engine] = out
    return replace(program, streams={program.entry: streams})


class _Expander:
    """Walks the streams."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def count(self, engine: Engine, items: Sequence[Item]) -> int:
        """Return the number of instructions of `items` after unrolling."""
        total = 0
        for item in items:
            if isinstance(item, Instruction):
                total += 1
            elif isinstance(item, Loop):
                total += item.trip_count * self.count(engine, item.body)
            else:
                callee = self.program.streams[item.function].get(engine, [])
                total += self.count(engine, callee)
        return total

    def run(
        self, engine: Engine, items: Sequence[Item], env: list[int], depth: int, out: list[Item]
    ) -> None:
        """Append the instructions of `items`; `env` has the values of loop levels and arguments."""
        for item in items:
            if isinstance(item, Instruction):
                out.append(self.fixed(item, env))
            elif isinstance(item, Loop):
                if item.count >= 0:
                    what = "trip count" if item.again < 0 else "condition"
                    raise NeuronError(
                        "NIR_ENC004",
                        f"the {what} of a loop is in a register; "
                        f"{self.program.machine} has no registers",
                        help="compile for a target with control flow (trn1), or make the trip "
                        "count a constant",
                    )
                for i in range(item.trip_count):
                    env[depth] = i
                    self.run(engine, item.body, env, depth + 1, out)
            else:
                inner = [0] * REGISTER
                for i, argument in enumerate(item.arguments):
                    inner[ARGUMENT + i] = self.constant(argument, env, item.function).const
                callee = self.program.streams[item.function].get(engine, [])
                self.run(engine, callee, inner, 0, out)

    def fixed(self, item: Instruction, env: Sequence[int]) -> Instruction:
        """Return `item` with symbols replaced by their values."""
        if item.opcode == "register_load":
            raise self.register_error(item.opcode)

        def pattern(p: AccessPattern | None) -> AccessPattern | None:
            if p is None or not p.address.terms:
                return p
            return replace(p, address=self.constant(p.address, env, item.opcode))

        return replace(
            item,
            dst=tuple(map(pattern, item.dst)),
            src=tuple(map(pattern, item.src)),
            waits=tuple(
                Wait(w.semaphore, self.constant(w.value, env, item.opcode)) for w in item.waits
            ),
        )

    def constant(self, value: Affine, env: Sequence[int], what: str) -> Affine:
        """Evaluate `value`."""
        if not value.terms:
            return value
        if any(symbol >= REGISTER for symbol, _ in value.terms):
            raise self.register_error(what)
        return Affine(value.at(env))

    def register_error(self, what: str) -> NeuronError:
        """Create the error for an address that is only known at run time."""
        return NeuronError(
            "NIR_ENC004",
            f"'{what}' takes an address from a register; {self.program.machine} has no registers",
            help="compile for a target with control flow (trn1), or make the index a constant",
        )
