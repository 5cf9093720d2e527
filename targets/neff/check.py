"""Check that the parts of a decoded program are consistent, so that running it is safe."""

from collections.abc import Mapping

from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    MAX_SEMAPHORES,
    REGISTER,
    Affine,
    Call,
    Instruction,
    Item,
    Loop,
    Program,
)
from neuronir.dialects.nc.instruction_rules import faults
from neuronir.dialects.nc.machine import Machine
from neuronir.targets.encoding.encoding import check_registers
from neuronir.targets.neff.check_streams import (
    check_counters,
    check_loads,
    check_queues,
    streams_of,
)
from neuronir.targets.neff.check_variables import check_variables
from neuronir.targets.neff.header import invalid

MAX_CALL_DEPTH = 64
MAX_NESTING = 128
"""Limit of nested loops and calls together: a walk of the program needs stack for each."""


def check_program(program: Program, path: str | None = None) -> None:
    """Raise NIR_NEFF008 for invalid references.

    These are unknown functions, recursion, undefined symbols or sources, and more semaphores than
    any machine has.
    """
    if program.semaphores > MAX_SEMAPHORES:
        raise invalid(
            8, f"it uses {program.semaphores} semaphores; the limit is {MAX_SEMAPHORES}", path
        )
    if program.entry not in program.streams:
        raise invalid(8, f"there is no function '{program.entry}', its entry", path)
    calls: dict[str, dict[str, int]] = {name: {} for name in program.streams}
    loops = dict.fromkeys(program.streams, 0)
    needed: dict[str, int] = dict.fromkeys(program.streams, 0)
    given: dict[str, int] = {program.entry: 0}
    for name, engines in program.streams.items():
        for items in engines.values():
            walk = _Walk(len(program.sources), path)
            walk.items(items, 0)
            needed[name] = max(needed[name], walk.arguments)
            loops[name] = max(loops[name], walk.depth)
            for callee, count, depth in walk.calls:
                calls[name][callee] = max(calls[name].get(callee, 0), depth)
                given[callee] = min(given.get(callee, count), count)
    for name, count in needed.items():
        if count > given.get(name, count):
            raise invalid(
                8, f"function '{name}' takes {count} arguments, a call passes fewer", path
            )
    _check_calls(program, calls, loops, path)


def check_machine(program: Program, machine: Machine, path: str | None = None) -> None:
    """Raise NIR_NEFF008 if the program exceeds `machine` or has no meaning.

    Memory, semaphores and registers must fit, and every instruction, stream and variable must be
    valid.
    """
    if program.machine != machine.name:
        raise invalid(8, f"it is for '{program.machine}', not for '{machine.name}'", path)
    for variable in program.variables:
        if variable.address + variable.size > machine.hbm_bytes:
            raise invalid(8, f"variable '{variable.name}' is outside the device memory", path)
    if program.semaphores > machine.semaphores:
        raise invalid(
            8, f"it uses {program.semaphores} semaphores, there are {machine.semaphores}", path
        )
    check_registers(program, machine)
    check_variables(program, path)
    for stream in streams_of(program):
        for item in stream:
            _check_instruction(item, program, path)
    check_queues(program, path)
    check_counters(program, path)
    check_loads(program, path)


def _check_instruction(item: Instruction, program: Program, path: str | None) -> None:
    problem = next(faults(item), None)
    if problem is None:
        used = [w.semaphore for w in item.waits] + [u.semaphore for u in item.updates]
        if max(used, default=-1) >= program.semaphores:
            problem = f"it names semaphore {max(used)} of {program.semaphores}"
    if problem is not None:
        source = program.sources[item.source].name if program.sources else ""
        raise invalid(8, f"'{item.opcode}' of {item.engine.name} ('{source}'): {problem}", path)


class _Walk:
    """One stream: its calls, and the number of arguments it reads."""

    def __init__(self, sources: int, path: str | None) -> None:
        self.sources = sources
        self.path = path
        self.arguments = 0
        self.depth = 0  # of loops
        self.calls: list[tuple[str, int, int]] = []  # function, arguments, loops around it

    def items(self, items: list[Item], depth: int) -> None:
        self.depth = max(self.depth, depth)
        for item in items:
            if isinstance(item, Loop):
                self.items(item.body, depth + 1)
            elif isinstance(item, Call):
                self.calls.append((item.function, len(item.arguments), depth))
                for argument in item.arguments:
                    self.affine(argument, depth)
            else:
                # A program may have no source map; then every index is 0.
                if item.source >= max(self.sources, 1):
                    raise invalid(8, f"'{item.opcode}' has an unknown source", self.path)
                for pattern in (*item.dst, *item.src):
                    if pattern is not None:
                        self.affine(pattern.address, depth)
                for wait in item.waits:
                    self.affine(wait.value, depth)

    def affine(self, value: Affine, depth: int) -> None:
        for symbol, _ in value.terms:
            if ARGUMENT <= symbol < REGISTER:
                self.arguments = max(self.arguments, symbol - ARGUMENT + 1)
            elif symbol < ARGUMENT and symbol >= depth:
                raise invalid(8, f"loop variable i{symbol} is used outside its loop", self.path)


def _check_calls(
    program: Program,
    calls: Mapping[str, Mapping[str, int]],
    loops: Mapping[str, int],
    path: str | None,
) -> None:
    """Check that there is no recursion, and no nesting that would exhaust the stack of a walk.

    `calls` are, by function, its callees and the loops around the call; `loops` the deepest nesting
    in it.
    """
    depth: dict[str, int] = {}
    levels: dict[str, int] = {}
    for root in program.streams:
        # Iterative: a hostile chain of calls must not exhaust the stack here either.
        stack: list[tuple[str, list[str]]] = [(root, sorted(calls[root]))]
        active = {root}
        while stack:
            name, left = stack[-1]
            if not left or name in depth:
                depth[name] = 1 + max((depth[callee] for callee in calls[name]), default=0)
                if depth[name] > MAX_CALL_DEPTH:
                    raise invalid(8, f"calls are nested more than {MAX_CALL_DEPTH} deep", path)
                inner = (around + 1 + levels[callee] for callee, around in calls[name].items())
                levels[name] = max([loops[name], *inner])
                if levels[name] > MAX_NESTING:
                    raise invalid(
                        8, f"loops and calls are nested more than {MAX_NESTING} deep", path
                    )
                active.discard(name)
                stack.pop()
                continue
            callee = left.pop()
            if callee in active:
                raise invalid(8, f"function '{callee}' calls itself", path)
            if callee not in depth:
                active.add(callee)
                stack.append((callee, sorted(calls[callee])))
