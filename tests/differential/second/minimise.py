"""A failing program made smaller: fewer choices, then fewer instructions and plainer values."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tests.differential.second.generate import Build, build
from tests.differential.second.judge import Configuration, Outcome, judge
from tests.differential.second.oracle import values
from tests.differential.second.program import Instr, Program
from tests.differential.shrink import Choices, shrink

Fails = Callable[[Program], bool]


def minimise(
    seed: int,
    configuration: Configuration,
    outcome: Outcome,
    tries: int = 250,
    build: Build = build,
) -> Program:
    """The smallest program found that fails as the one of `seed` does."""

    def fails(one: Program) -> bool:
        if not one.roots:
            return False
        again = judge(one, configuration)
        return again.kind == outcome.kind and _same(again.cause, outcome.cause, outcome.kind)

    def replayed(taken: Sequence[int]) -> bool:
        try:
            return fails(build(Choices(replay=taken), seed))
        except (ValueError, IndexError, AssertionError):
            return False

    choices = Choices(seed=seed)
    first = cut(build(choices, seed), fails)
    best = shrink(choices.taken, replayed, tries)
    return min(first, cut(build(Choices(replay=best), seed), fails), key=size)


def _same(one: str, other: str, kind: str) -> bool:
    """Crashes are the same where their messages agree but for numbers and names, wrong results
    where the first one is of the same opcode."""
    if kind == "wrong":
        return one.split("(")[1].split()[0] == other.split("(")[1].split()[0]
    return kind != "crash" or _words(one) == _words(other)


def _words(text: str) -> str:
    """The kind of a fault: its text without names and numbers."""
    tail = text.rsplit("): ", 1)[-1]
    return "".join(c for c in tail if c.isalpha() or c == " ")[:40]


def size(program: Program) -> tuple[int, int]:
    """What makes a program large: its instructions, then its elements."""
    return len(program.instrs), sum(s.size for i in program.instrs for s in i.shapes)


def cut(program: Program, fails: Fails) -> Program:
    """One result where that is enough, and parameters in place of instructions."""
    best = program
    for name in program.roots:
        one = replace(program, roots=[name]).live()
        if len(program.roots) > 1 and fails(one):
            best = one
            break
    try:
        known = values(best)
    except Exception:  # XLA refuses a part of it, so that no value can become a parameter
        return best
    for instr in [i for i in best.instrs if i.opcode not in ("parameter",)]:
        if instr.name in best.roots or instr.name not in known:
            continue
        if all(i.name != instr.name for i in best.instrs):
            continue
        array = np.asarray(known[instr.name])
        given = Instr(instr.name, "parameter", instr.shapes)
        instrs = [given if i.name == instr.name else i for i in best.instrs]
        inputs = {**best.inputs, instr.name: array}
        # A parameter is known to the last bit.
        fewer = replace(best, instrs=instrs, inputs=inputs, exact=best.exact | {instr.name}).live()
        if fails(fewer):
            best = fewer
    if best.bound and fails(replace(best, bound=set())):
        best = replace(best, bound=set())
    return best
