"""neuron-opt --run --inputs: run a whole program on arrays, at any phase."""

from collections.abc import Mapping, Set

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr

from neuronir.cli.neuron_opt_evaluate import run_function, show
from neuronir.cli.neuron_opt_on_target import compiled, target_and_phase
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.diagnostics.output import atomic_write
from neuronir.dialects.hlo.interpreter import entry_function, entry_signature
from neuronir.dialects.hlo.semantics.regions import flatten
from neuronir.dialects.nc.structure import VariableOp
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.diagnostics import warning
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import (
    DTYPE_SUFFIX,
    Array,
    check_arguments,
    load_npz,
    npz_bytes,
    unpack,
)
from neuronir.driver.judge import arguments_of
from neuronir.driver.pass_runner import RunFailure
from neuronir.driver.weights import parameter_names
from neuronir.registry import Registry


def run_program(
    module: ModuleOp, where: str, inputs: str | None, outputs: str | None, registry: Registry
) -> str:
    """Run the entry function of a module and return one line per result.

    A module of hlo or tiles runs with the reference semantics, or, with `where` TARGET[:PHASE], it
    is compiled to that phase without casts and executed. An nc module is executed in program order.

    Args:
        where: `hlo`, or `TARGET[:PHASE]`.
        inputs: An npz file with the arguments, as `argN` or by name; None for no arguments.
        outputs: The npz file for the results, as `outN`; None for none.

    Raises:
        RunFailure: an op cannot be evaluated, or a check failed.
        NeuronError: an argument is missing (NIR_RUN003), or has a wrong shape or type.
    """
    entries = {} if inputs is None else load_npz(inputs)
    variables = [op for op in module.ops if isinstance(op, VariableOp)]
    if not variables and not any(op.name == "nc.func" for op in module.ops):
        text, results = _run_function(module, where, entries, inputs, registry)
    elif where == "hlo":
        text, results = "", _run_nc(module, _nc_arguments(variables, entries, inputs))
    else:
        raise NeuronError(
            "NIR_RUN",
            f"--run={where} compiles a module, and this one is in an nc phase already",
            help="use --run to execute the module as it is",
        )
    if outputs is not None:
        atomic_write(outputs, npz_bytes({f"out{i}": array for i, array in enumerate(results)}))
    return text or "@main:\n" + "".join(
        f"  result {i}: {show(array)}\n" for i, array in enumerate(results)
    )


def _run_function(
    module: ModuleOp,
    where: str,
    entries: Mapping[str, Array],
    path: str | None,
    registry: Registry,
) -> tuple[str, list[Array]]:
    function = entry_function(module)
    try:
        arguments = arguments_of(module, entries)
    except KeyError as missing:
        raise _lacks(path, missing.args[0]) from None
    named = enumerate(parameter_names(module))
    _tell_unused(entries, {name for i, p in named for name in (f"arg{i}", p)}, path)
    check_arguments(arguments, entry_signature(module), path or "")
    if where == "hlo":
        text, values = run_function(function, arguments)
        last = function.body.block.last_op
        returned = [values[operand] for operand in last.operands] if last is not None else []
        return text, [np.asarray(leaf) for value in returned for leaf in flatten(value)]
    target, phase = target_and_phase(where)
    program = clone(module)
    program.attributes["nc.machine"] = StringAttr(target.name)
    return "", _run_nc(compiled(program, target, phase, registry), arguments)


def _nc_arguments(
    variables: list[VariableOp], entries: Mapping[str, Array], path: str | None
) -> list[Array]:
    found: list[Array] = []
    known: set[str] = set()
    inputs = [op for op in variables if op.kind.data == "input"]
    for op in sorted(inputs, key=_index):
        source = op.source_name.data if op.source_name else op.sym_name.data
        names = [f"arg{_index(op)}", source]
        name = next((name for name in names if name in entries), None)
        if name is None:
            raise _lacks(path, f"{names[0]} ('{source}')")
        found.append(unpack(entries, name))
        known.update(names)
    _tell_unused(entries, known, path)
    return found


def _tell_unused(entries: Mapping[str, Array], known: Set[str], path: str | None) -> None:
    """Warn of arrays that are no argument of the program."""
    extra = [n for n in entries if n not in known and not n.endswith(DTYPE_SUFFIX)]
    if extra:
        names = ", ".join(f"'{name}'" for name in extra)
        warning(f"{path}: ignored, because the program has no such argument: {names}")


def _index(op: VariableOp) -> int:
    return 0 if op.index is None else op.index.value.data


def _lacks(path: str | None, name: str) -> NeuronError:
    if path is None:
        return NeuronError("NIR_RUN003", f"the program takes {name}", help="pass --inputs FILE.npz")
    return NeuronError(
        "NIR_RUN003",
        f"{path} has no array {name}",
        help="arguments are named arg0, arg1 ... in the order of the entry's parameters",
    )


def _run_nc(module: ModuleOp, arguments: list[Array]) -> list[Array]:
    # imported late: only nc modules need the simulator
    from neuronir.targets.simulator.ir_runner import run_module

    try:
        return run_module(module, arguments)
    except NeuronError as error:
        raise RunFailure(Diagnostic.from_error(error)) from error
