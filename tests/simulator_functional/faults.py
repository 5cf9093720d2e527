"""Break programs on purpose: remove waits, flip flags, bend access patterns."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

from neuronir.dialects.nc.instruction import Instruction, Item, Loop, Program


def instructions(program: Program) -> Iterator[Instruction]:
    """All static instructions, by function and engine, in order."""

    def walk(items: list[Item]) -> Iterator[Instruction]:
        for item in items:
            if isinstance(item, Instruction):
                yield item
            elif isinstance(item, Loop):
                yield from walk(item.body)

    for function in sorted(program.streams):
        for engine in sorted(program.streams[function]):
            yield from walk(program.streams[function][engine])


def wait_places(program: Program) -> list[tuple[int, int]]:
    """(number of the instruction, number of its wait) for all waits."""
    return [
        (number, i)
        for number, instruction in enumerate(instructions(program))
        for i in range(len(instruction.waits))
    ]


def without_wait(program: Program, place: tuple[int, int]) -> Program:
    """A copy of the program without one semaphore wait."""

    def remove(instruction: Instruction) -> None:
        waits = list(instruction.waits)
        del waits[place[1]]
        instruction.waits = tuple(waits)

    return changed(program, place[0], remove)


def changed(program: Program, number: int, change: Callable[[Instruction], None]) -> Program:
    """A copy of the program with instruction `number` changed."""
    other = replace(program, streams=copy.deepcopy(program.streams))
    change(list(instructions(other))[number])
    return other
