"""Find the first op at which compiled values deviate from the reference.

If a pass of phase hlo changes the values, it is named. Otherwise values are watched: the program
is compiled with them as additional outputs. The reference is the interpreter on the module in phase
hlo, which contains the roundings of hlo-auto-cast; `judge_module` defines the bounds. A watched
compile counts only if the wrong outputs are still wrong. Otherwise watching has hidden the error,
and the value is skipped.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import BlockArgument, Operation, OpResult

from neuronir.dialects.support.compare import OutputReport, Report
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import file_line_col, source_name
from neuronir.dialects.support.npz import Array
from neuronir.driver.compiler import compile_file, compile_module
from neuronir.driver.judge import arguments_of, judge_compile, judge_module, results_of
from neuronir.driver.options import CompileOptions
from neuronir.driver.pass_runner import RunFailure
from neuronir.driver.result import CompiledResult
from neuronir.driver.specification import specify
from neuronir.driver.watch import (
    ancestors,
    block_of,
    fused_away,
    nearest,
    outputs_of,
    values_of,
    watched,
)
from neuronir.driver.wrong_pass import wrong_pass
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run
from neuronir.targets.simulator.program_data import choose_inputs


class State(Enum):
    """The status of a value."""

    RIGHT = "right"
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Value:
    """A watched value: the number of its op in the entry function, and how it compares."""

    number: int
    state: State
    report: OutputReport | None = None
    why: str = ""
    simulated: tuple[Array, ...] = ()


@dataclass(frozen=True)
class Finding:
    """Where values deviate from the reference.

    `outputs` compares the outputs of the program. `wrong_pass` is the first pass of phase hlo that
    changes the values, or "". `first` is the first wrong value, or None if the outputs are right
    or a pass is wrong. `inputs` are the right values from which it was computed. `fused` are right
    values in between that the binary never stores. `skipped` are values that could not be watched.
    `watched_alone` means that the binary fuses `first` away, too.
    """

    module: ModuleOp
    outputs: Report
    first: Value | None = None
    inputs: list[Value] = field(default_factory=list)
    fused: list[int] = field(default_factory=list)
    skipped: list[Value] = field(default_factory=list)
    watched_alone: bool = False
    compiles: int = 1
    arguments: Sequence[Array] = ()
    wrong_pass: str = ""

    def op(self, number: int) -> Operation:
        """Return an op of the entry function by its number."""
        return list(block_of(self.module).ops)[number]

    def describe(self, number: int) -> str:
        """Describe an op: its name, opcode, type and location."""
        return describe(self.op(number))


def describe(op: Operation) -> str:
    """Describe an op: its name, opcode, type and location."""
    place = file_line_col(op)
    at = f" at {place.file}:{place.line}" if place is not None else ""
    types = ", ".join(str(result.type) for result in op.results)
    opcode = op.name.removeprefix("hlo.")
    kind = op.properties.get("kind")
    if opcode == "composite" and isinstance(kind, StringAttr):
        opcode = kind.data
    return f"{source_name(op) or 'an op without a name'} ({opcode}, {types}){at}"


def localize(
    path: str,
    target: str,
    inputs: Mapping[str, Array],
    options: CompileOptions | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Finding:
    """Compile the model in a file, run it, and find the first op that deviates by more than
    rounding.

    `inputs` are by `argN` or HLO name. `progress` is called for each watched value. Raises
    NeuronError or RunFailure if the model cannot be compiled or run.
    """
    return _Search(path, target, inputs, options or CompileOptions(), progress).find()


class _Search:
    def __init__(
        self,
        path: str,
        target: str,
        inputs: Mapping[str, Array],
        options: CompileOptions,
        progress: Callable[[str], None],
    ) -> None:
        self.target = target
        self.entries = {**inputs, **options.weights}
        self.path = path
        self.progress = progress
        self.compile_whole = partial(compile_file, path, target)
        self.given = options
        self.specification = specify(self.compile_whole, options)
        self.module = self.specification.lowered
        try:
            self.arguments = arguments_of(self.module, self.entries)
        except KeyError as error:
            raise NeuronError(
                "NIR_SIM030", f"the inputs lack {error.args[0]}, an argument of {path}"
            ) from None
        # Weights are already constants of the module.
        self.options = replace(options, weights={}, compile_from="hlo", compile_to="binary")
        self.ops = list(block_of(self.module).ops)
        self.known: dict[int, Value] = {}
        self.compiles = 0
        self.wrong: list[int] = []

    def find(self) -> Finding:
        """Return the search."""
        result = self.compiled(self.module)
        assert result.program is not None
        simulated = self.simulated(result)
        outputs = judge_compile(self.specification, self.arguments, simulated)
        if outputs.ok:
            return Finding(self.module, outputs, compiles=self.compiles)
        name = wrong_pass(self.compile_whole, self.given, self.arguments)
        if name:
            return Finding(self.module, outputs, compiles=self.compiles, wrong_pass=name)
        self.wrong = [i for i, output in enumerate(outputs.outputs) if not output.ok]
        tiling = "always" if result.tiled else "never"
        # A value that cannot be watched is skipped, whatever the reason.
        self.options = replace(self.options, tiling=tiling, reproducers=False)
        every = values_of(self.module)
        results = outputs_of(self.module)
        makers = [results[i].owner for i in self.wrong if len(results) == len(outputs.outputs)]
        ends = [self.ops.index(one) for one in makers if isinstance(one, Operation)]
        reached = ancestors(self.module, ends or [len(self.ops) - 1])
        every = [number for number in every if number in reached]
        inside = fused_away(self.module, every, result.program.sources)
        stored = [number for number in every if number not in inside]
        first = self.bisect(stored)
        if first is None:
            return self.finding(outputs, None, [], [])
        first = self.settle(first, stored)
        sources = nearest(self.module, first.number, stored)
        between = self.between(first.number, sources, inside)
        alone = False
        for number in between:
            value = self.watch(number)
            if value.state == State.WRONG:
                first, alone = value, True
                break
        sources = nearest(self.module, first.number, [*stored, *(between if alone else ())])
        rest = [
            n
            for n in between
            if n not in sources and n < first.number and self.known[n].state == State.RIGHT
        ]
        return self.finding(outputs, first, sources, rest, alone)

    def finding(
        self,
        outputs: Report,
        first: Value | None,
        sources: Sequence[int],
        fused: Sequence[int],
        alone: bool = False,
    ) -> Finding:
        skipped = [v for _, v in sorted(self.known.items()) if v.state == State.SKIPPED]
        inputs = [self.known[n] for n in sources if n in self.known]
        return Finding(
            self.module,
            outputs,
            first,
            inputs,
            list(fused),
            skipped,
            alone,
            self.compiles,
            self.arguments,
        )

    def bisect(self, numbers: Sequence[int]) -> Value | None:
        """Return a wrong value before which, in program order, the next one that can be watched is
        right; None if no value is wrong.
        """
        low, high = -1, len(numbers)
        worst: Value | None = None
        while high - low > 1:
            middle = (low + high) // 2
            # From the middle outwards, to the first that can be watched.
            order = sorted(range(low + 1, high), key=lambda at: (abs(at - middle), at))
            for at in order:
                value = self.watch(numbers[at])
                if value.state != State.SKIPPED:
                    break
            else:
                return worst
            if value.state == State.WRONG:
                high, worst = at, value
            else:
                low = at
        return worst

    def settle(self, value: Value, numbers: Sequence[int]) -> Value:
        """Blame an op only if its inputs are right; otherwise continue from them."""
        while True:
            makers = [self.watch(n) for n in nearest(self.module, value.number, numbers)]
            wrong = [maker for maker in makers if maker.state == State.WRONG]
            if not wrong:
                return value
            value = wrong[0]

    def between(self, number: int, sources: Sequence[int], inside: set[int]) -> list[int]:
        """Return fused values between `sources` and an op, in program order."""
        found: set[int] = set()
        left = [number]
        while left:
            for maker in nearest(self.module, left.pop(), inside | set(sources)):
                if maker in inside and maker not in found:
                    found.add(maker)
                    left.append(maker)
        return sorted(found)

    def watch(self, number: int) -> Value:
        """Compile the program with the results of an op as additional outputs, and compare them."""
        if number not in self.known:
            self.known[number] = value = self._watch(number)
            text = value.state.value + (f": {value.why}" if value.why else "")
            self.progress(f"{describe(self.ops[number])}: {text}")
        return self.known[number]

    def _watch(self, number: int) -> Value:
        module = watched(self.module, [number])
        try:
            outputs = self.simulated(self.compiled(module))
        except NeuronError as error:
            return Value(number, State.SKIPPED, why=f"[{error.code}] {error.message}")
        except RunFailure as failure:
            return Value(number, State.SKIPPED, why=failure.diagnostic.text)
        report = judge_module(module, self.arguments, outputs)
        count = len(self.ops[number].results)
        own, mine = report.outputs[:-count], report.outputs[-count:]
        bad = next((one for one in mine if not one.ok), None)
        if not any(i < len(own) and not own[i].ok for i in self.wrong):
            return Value(
                number, State.SKIPPED, why="with it as a further output the outputs are right"
            )
        values = tuple(outputs[-count:])
        if bad is None:
            return Value(number, State.RIGHT, mine[0], simulated=values)
        return Value(number, State.WRONG, bad, simulated=values)

    def compiled(self, module: ModuleOp) -> CompiledResult:
        self.compiles += 1
        return compile_module(module, self.target, self.options, name=self.path)

    def simulated(self, result: CompiledResult) -> list[Array]:
        assert result.program is not None
        chosen = choose_inputs(result.program, self.entries, self.path)
        machine = get_target(self.target).machine
        return list(run(result.program, chosen, machine).outputs)


def first_inputs(finding: Finding) -> dict[str, Array]:
    """Return the operands of the first wrong op, by the interpreter, and its expected results.

    `arg0`, `arg1`, ... are its operands in order, `out0`, ... its results by the interpreter, and
    `simulated0`, ... those of the compiled program.
    """
    assert finding.first is not None
    arguments = finding.arguments
    op = finding.op(finding.first.number)
    operands = list(op.operands)
    ops = list(block_of(finding.module).ops)
    makers = [ops.index(v.owner) for v in operands if isinstance(v.owner, Operation)]
    own = len(outputs_of(finding.module))
    found = results_of(watched(finding.module, [*makers, finding.first.number]), arguments)[own:]
    results = iter(found)
    arrays: dict[str, Array] = {}
    for i, operand in enumerate(operands):
        if isinstance(operand, OpResult):
            given = [next(results) for _ in operand.owner.results]
            arrays[f"arg{i}"] = given[operand.index]
        elif isinstance(operand, BlockArgument):
            arrays[f"arg{i}"] = arguments[operand.index]
    arrays |= {f"out{i}": array for i, array in enumerate(results)}
    arrays |= {f"simulated{i}": array for i, array in enumerate(finding.first.simulated)}
    return arrays
