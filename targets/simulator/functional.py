"""Run a program on arrays, exactly: the functional half of the simulator.

`run` executes a decoded Program (instruction.py) on byte-accurate memories. It needs neither IR nor
passes nor frontends.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import DType, Engine
from neuronir.dialects.nc.instruction import Program, Variable
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.semantics.rounding import Perturbation, perturbing
from neuronir.dialects.support.collector import collect_leftovers, few_collections
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.execute import Prepared, RegisterLoad, Warnings, prepare
from neuronir.targets.simulator.integers import narrowed, widened
from neuronir.targets.simulator.memory import Memory, Uninitialized
from neuronir.targets.simulator.not_a_number import NanWatch
from neuronir.targets.simulator.program_data import variables_of
from neuronir.targets.simulator.races import RaceChecker
from neuronir.targets.simulator.walker import DmaMode, Env, Node, Order, Walker, payloads

Array = NDArray[Any]
Observer = Callable[[Node, Env], None]
# The types in which --auto-cast-type stores rounded values.
_CAST_TYPES = {"bf16": DType.BF16, "fp16": DType.F16}


@dataclass(frozen=True)
class Options:
    """Options of a run.

    `uninitialized` defines unwritten bytes (an error when read, NaN bits, zeros). `dma_mode`,
    `order` and `starve` select an order that the semaphores allow (walker.py). `races` checks that
    the semaphores order all conflicts; `rules` checks memories, partitions and banks. `sbuf_bytes`
    and `psum_bytes` replace the machine's sizes (programs without addresses). `perturb` is the seed
    of random roundings (noise.py); without it results are exact. `nan` watches for the first
    instruction that produces NaN.
    """

    uninitialized: Uninitialized = "error"
    dma_mode: DmaMode = "eager"
    order: Order = "forward"
    starve: Engine | None = None
    races: bool = False
    rules: bool = True
    sbuf_bytes: int | None = None
    psum_bytes: int | None = None
    perturb: int | None = None
    nan: bool = False


@dataclass
class Statistics:
    """Statistics of a run: HBM bytes by kind of variable, FLOPs of matmuls, instructions."""

    read_bytes: dict[str, int] = field(default_factory=dict)
    written_bytes: dict[str, int] = field(default_factory=dict)
    matmul_flops: int = 0
    instructions: dict[str, int] = field(default_factory=dict)  # by engine
    opcodes: dict[str, int] = field(default_factory=dict)


@dataclass
class Result:
    """Outputs by result number, statistics, and warnings (one text per instruction).

    `first_nan` is the first instruction that produced NaN from operands without NaN, if
    `Options.nan` is set. `trips` are the trip counts of loops with a runtime count, by counter, one
    for each run.
    """

    outputs: list[Array]
    statistics: Statistics
    warnings: list[str]
    first_nan: str | None = None
    trips: dict[int, list[int]] = field(default_factory=dict)


def run(
    program: Program,
    inputs: Sequence[Array],
    machine: Machine,
    options: Options | None = None,
    memory: Memory | None = None,
) -> Result:
    """Run `program` on `inputs`, by argument number.

    pred inputs are bool. 64-bit integers that the program computes in 32 bits may have either
    width. The run uses new memories, or the `memory` of an earlier run. Raises NeuronError
    NIR_SIM0xx for an uninitialised read, an access out of range, a deadlock, a data race (if
    checked), misuse of PSUM or another violated rule. The message names the instruction, its
    operands and its source.
    """
    collect_leftovers("runs")
    with few_collections("runs"):
        return _run(program, inputs, machine, options or Options(), memory)


def _run(
    program: Program,
    inputs: Sequence[Array],
    machine: Machine,
    chosen: Options,
    memory: Memory | None,
) -> Result:
    if memory is None:
        memory = Memory(
            machine, program.variables, chosen.uninitialized, chosen.sbuf_bytes, chosen.psum_bytes
        )
    write_inputs(program, inputs, memory)
    random = _perturbation(program, memory, chosen.perturb)
    walker = Walker(program)
    warnings = Warnings()
    watch = NanWatch(program) if chosen.nan else None
    step: Observer = _execute if watch is None else watch.run
    execute = step
    meet: Callable[[], None] | None = None
    if chosen.races:
        if chosen.dma_mode != "eager":
            raise NeuronError("NIR_SIM006", "races are checked with dma_mode='eager' only")
        checker = RaceChecker(program)

        def checked(node: Node, env: Env) -> None:
            checker.observe(node, env)
            execute(node, env)

        step = checked
        meet = checker.meet

    def payload(node: Node) -> object:
        return prepare(node, program, memory, machine, chosen.rules, warnings)

    with payloads(walker.nodes, payload):
        with np.errstate(all="ignore"), perturbing(random):
            walker.run(step, chosen.order, chosen.dma_mode, meet, chosen.starve)
        statistics = statistics_of(walker.nodes)
    outputs = read_outputs(program, memory)
    first = None if watch is None else watch.first
    return Result(outputs, statistics, warnings.texts(program), first, walker.trips)


def _perturbation(program: Program, memory: Memory, seed: int | None) -> Perturbation | None:
    """Return the perturbation of a run; it also perturbs the constants that the compile rounded."""
    if seed is None:
        return None
    precision = program.metadata.get("precision", "none")
    random = Perturbation(seed, full=precision == "none")
    cast = _CAST_TYPES.get(precision.rpartition(":")[2])
    for variable in program.variables:
        if variable.kind == "constant" and variable.dtype == cast:
            array = memory.variable_array(variable)
            array[...] = random.constant(array, variable.dtype)
    return random


def _execute(node: Node, env: Env) -> None:
    node.payload(env)


def write_inputs(program: Program, inputs: Sequence[Array], memory: Memory) -> None:
    """Write the inputs to the program's input variables; raises NIR_SIM008 if they do not fit."""
    variables = variables_of(program, "input")
    if len(variables) != len(inputs):
        raise NeuronError(
            "NIR_SIM008", f"the program takes {len(variables)} inputs, {len(inputs)} are given"
        )
    for i, (variable, value) in enumerate(zip(variables, inputs, strict=True)):
        array = narrowed(program, variable, np.asarray(value))
        wanted = variable.dtype.numpy
        if variable.dtype == DType.BOOL and array.dtype == np.bool_:
            array = array.astype(np.uint8)
        if array.shape != variable.shape or array.dtype != wanted:
            raise NeuronError(
                "NIR_SIM008",
                f"input {i} ('{variable.name}') must be {wanted.name} "
                f"{list(variable.shape)}, it is {array.dtype.name} {list(array.shape)}",
            )
        memory.variable_array(variable)[...] = array


def read_outputs(program: Program, memory: Memory) -> list[Array]:
    """Copy the outputs by result number; raises NIR_SIM001 if one was not completely written."""
    return [
        widened(program, variable, _read_output(variable, memory))
        for variable in variables_of(program, "output")
    ]


def _read_output(variable: Variable, memory: Memory) -> Array:
    missing = memory.unwritten(variable)
    if missing:
        raise NeuronError(
            "NIR_SIM001",
            f"{missing} elements of output {variable.index} ('{variable.name}') were never written",
        )
    array = memory.variable_array(variable).copy()
    return array.astype(np.bool_) if variable.dtype == DType.BOOL else array


def statistics_of(nodes: Sequence[Node]) -> Statistics:
    """Return the statistics of the executed nodes."""
    out = Statistics()
    for node in nodes:
        instruction, payload = node.instruction, node.payload
        engine = instruction.engine.name.lower()
        out.instructions[engine] = out.instructions.get(engine, 0) + node.count
        out.opcodes[instruction.opcode] = out.opcodes.get(instruction.opcode, 0) + node.count
        if isinstance(payload, RegisterLoad):
            continue
        if isinstance(payload, Prepared):
            for total, part in (
                (out.read_bytes, payload.read_bytes),
                (out.written_bytes, payload.written_bytes),
            ):
                for kind, count in part.items():
                    total[kind] = total.get(kind, 0) + count
        if instruction.opcode == "matmul":
            stationary, moving = instruction.src
            if stationary is not None and moving is not None:
                work = 2 * stationary.partitions * stationary.elements * moving.elements
                out.matmul_flops += work * node.count
    return out
