"""neuron-opt --run: evaluate functions without arguments, and their checks."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from neuronir.cli.neuron_opt_on_target import run_checks, target_and_phase
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.check.ops import ExpectOp
from neuronir.dialects.check.semantics import mismatch
from neuronir.dialects.hlo.semantics.evaluation import evaluate as hlo_evaluate
from neuronir.dialects.hlo.semantics.execution import read_by
from neuronir.dialects.hlo.semantics.numeric import Value
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.pass_runner import RunFailure, at_op
from neuronir.registry import Registry

_MAX_ELEMENTS = 16


def evaluate(module: ModuleOp, where: str, registry: Registry) -> str:
    """Return one line per function with the number of passed checks, and one per returned value.

    `where` is `hlo` for the reference semantics alone, or `TARGET[:PHASE]` to execute there too.
    Raises RunFailure for the first failed check, or for an op that cannot be evaluated; on a target
    also if no function has a check (NIR_RUN002).
    """
    functions = [
        f for f in module.ops if isinstance(f, FuncOp) and not f.is_declaration and not f.args
    ]
    if not functions:
        raise RunFailure(Diagnostic("error", "[NIR_RUN] --run found no function without arguments"))
    lines: list[str] = []
    total = 0
    for function in functions:
        text, values = run_function(function)
        lines.append(text)
        if where != "hlo":
            target, phase = target_and_phase(where)
            held = run_checks(function, values, target, phase, registry)
            total += held
            lines.append(f"  {_checks(held)} on {target.name} at phase {phase}\n")
    if where != "hlo" and not total:
        text = (
            f"[NIR_RUN002] --run={where} compiled {len(functions)} function"
            f"{'' if len(functions) == 1 else 's'} and found nothing to check; add check.expect_eq "
            "or check.expect_close"
        )
        raise RunFailure(Diagnostic("error", text))
    return "".join(lines)


def _checks(count: int) -> str:
    return f"{count} check{'' if count == 1 else 's'} passed"


def run_function(
    function: FuncOp, arguments: Sequence[Value] = ()
) -> tuple[str, dict[SSAValue, Value]]:
    """Evaluate a function and its checks with the reference semantics.

    Returns a text, with one line for the checks and one per result, and the values by SSA value.
    Raises RunFailure for the first failed check, or for an op that cannot be evaluated.
    """
    block = function.body.block
    values: dict[SSAValue, Value] = dict(zip(block.args, arguments, strict=True))
    checks = 0
    lines = []
    for op in block.ops:
        operands = [values[operand] for operand in read_by(op)]
        if isinstance(op, ExpectOp):
            checks += 1
            problem = mismatch(op, np.asarray(operands[0]), np.asarray(operands[1]))
            if problem:
                raise RunFailure(at_op(op, f"'{op.name}' failed: {problem}"))
        elif op.name == "func.return":
            lines = [f"  result {i}: {show(value)}" for i, value in enumerate(operands)]
        else:
            values.update(zip(op.results, _compute(op, operands), strict=True))
    text = "\n".join([f"@{function.sym_name.data}: {_checks(checks)}", *lines]) + "\n"
    return text, values


def _compute(op: Operation, operands: list[Value]) -> tuple[Value, ...]:
    """Return the results of an op; a loop returns several as one tuple."""
    try:
        (value,) = hlo_evaluate(op, operands)
    except NeuronError as error:
        raise RunFailure(Diagnostic.from_error(error)) from error
    return value if isinstance(value, tuple) and len(op.results) != 1 else (value,)


def show(value: Value) -> str:
    """Format a value with its type and shape; long arrays are abbreviated."""
    if isinstance(value, tuple):
        return f"({', '.join(show(item) for item in value)})"
    array = np.asarray(value)
    shown = f"{array.dtype}{list(array.shape)} "
    return shown + np.array2string(
        array, separator=", ", threshold=_MAX_ELEMENTS, max_line_width=10**6
    ).replace("\n", "")
