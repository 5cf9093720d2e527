"""hlo-verify-supported: report everything that a target cannot compile in one error."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import file_line_col, framework_name, source_name
from neuronir.dialects.support.walking import ops_of
from neuronir.passes.hlo.legality import Legality, Problem, legality, legality_of
from neuronir.passes.hlo.ranges.fp32 import inexact, integer_ranges
from neuronir.passes.hlo.support.walk import functions
from neuronir.passes.statistics import record

_ENTERED = ("hlo.while", "hlo.conditional", "hlo.composite")


def program_ops(block: Block) -> Iterator[Operation]:
    """Yield the ops on whole arrays of a block and of its loops, branches and composites."""
    for op in ops_of(block):
        yield op
        if op.name in _ENTERED:
            for region in op.regions:
                for inner in region.blocks:
                    yield from program_ops(inner)


def describe(op: Operation, problem: Problem) -> str:
    """Format one line: code, opcode, instruction, location, framework op, reason."""
    name, place, framework = source_name(op), file_line_col(op), framework_name(op)
    parts = [f"[{problem.code}] {op.name}"]
    if name:
        parts.append(f"'{name}'")
    if place is not None:
        parts.append(f"at {place}")
    if framework:
        parts.append(f"({framework})")
    return " ".join(parts) + f": {problem.reason}"


def find_problems(module: ModuleOp, table: Legality) -> list[tuple[Operation, Problem]]:
    """Return every unsupported op of the program with all of its problems."""
    found: list[tuple[Operation, Problem]] = []
    for function in functions(module):
        ranges = None if table.integers else integer_ranges(function.body.block)
        for op in program_ops(function.body.block):
            if not op.name.startswith("hlo."):
                continue
            problems = table.problems(op)
            if not problems and ranges is not None and inexact(op, ranges) is not None:
                problems = [Problem("NCC_EVRF001", _INEXACT.format(table.target))]
            found.extend((op, problem) for problem in problems)
    return found


def _help(table: Legality) -> str:
    """Return where the supported operators are listed, or their names if a target has fewer."""
    if table.opcodes >= legality_of(get_machine(table.target)).opcodes:
        return "neuronx-cc list-operators --framework XLA prints the supported operators"
    return f"{table.target} supports {', '.join(sorted(table.opcodes))}"


_INEXACT = (
    "{} computes integers in fp32, which is exact up to 2^24, and its operands or results may be "
    "larger"
)


@dataclass(frozen=True)
class HloVerifySupportedPass(ModulePass):
    """Check every op against the legality table of a target and report all problems at once.

    Run this pass after the simplifying passes and hlo-decompose, so that dead code and ops with a
    decomposition are not reported. If no engine of the target computes integers, ops that fp32 may
    not compute exactly (hlo-exact-integers) are unsupported too. The regions of reducers, sorts
    and scatters are checked as part of their op. The module is not changed.
    """

    name = "hlo-verify-supported"
    target: str = field(default="trn1", metadata={"help": "name of the target"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = legality(self.target)
        problems = find_problems(op, table)
        record(self.name, "unsupported", len(problems))
        if not problems:
            return
        lines = [f"  {describe(bad, problem)}" for bad, problem in problems]
        first, problem = problems[0]
        noun = "operation is" if len(problems) == 1 else "operations are"
        raise NeuronError(
            problem.code,
            f"{len(problems)} {noun} not supported by {self.target}:\n" + "\n".join(lines),
            location=file_line_col(first),
            help=_help(table),
        )
