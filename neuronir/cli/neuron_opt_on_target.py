"""neuron-opt --run=TARGET[:PHASE]: evaluate checks on the compiled program.

Each function without arguments becomes a separate program. Its non-scalar constants become inputs,
because the compiler would otherwise fold everything. The checked values become outputs, or the
results if nothing is checked. The program is compiled to the phase without casts, and executed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType, TupleType, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.check.ops import ExpectOp
from neuronir.dialects.check.semantics import Array, mismatch
from neuronir.dialects.hlo.constants import ConstantOp, constant_array
from neuronir.dialects.hlo.control_flow import TupleOp
from neuronir.dialects.hlo.semantics.numeric import Value
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.dumper import Dumper, DumpOptions
from neuronir.driver.pass_runner import PassRunner, RunFailure, at_op
from neuronir.driver.phases import PHASES, can_tile, phases_between, pipeline_of
from neuronir.driver.timer import Timer
from neuronir.pipeline import parse_pipeline
from neuronir.registry import Registry
from neuronir.targets.registry import TargetLike, get_target

_FIRST, _LAST = PHASES.index("virtual"), PHASES.index("synchronised")


def target_and_phase(text: str) -> tuple[TargetLike, str]:
    """Parse the value of --run to a target and the phase to execute."""
    name, _, phase = text.partition(":")
    phase = phase or PHASES[_LAST]
    if phase not in PHASES[_FIRST : _LAST + 1]:
        raise NeuronError(
            "NIR_RUN",
            f"--run cannot execute the phase '{phase}'",
            help=f"phases: {', '.join(PHASES[_FIRST : _LAST + 1])}",
        )
    return get_target(name), phase


def run_checks(
    function: FuncOp,
    values: dict[SSAValue, Value],
    target: TargetLike,
    phase: str,
    registry: Registry,
) -> int:
    """Compile and execute one function; return the number of passed checks.

    `values` has the reference values, from which the expected ones are taken. A function without
    checks computes its results, which are not compared.
    """
    checks = [op for op in function.body.block.ops if isinstance(op, ExpectOp)]
    last = function.body.block.last_op
    returned = list(last.operands) if last is not None else []
    wanted = [check.actual for check in checks] or returned
    if not wanted:
        return 0
    module, inputs = _program(function, wanted)
    module.attributes["nc.machine"] = StringAttr(target.name)
    module = compiled(module, target, phase, registry)
    # imported late: only this option needs the simulator
    from neuronir.targets.simulator.ir_runner import run_module

    try:
        outputs = run_module(module, inputs)
    except NeuronError as error:
        raise RunFailure(Diagnostic.from_error(error)) from error
    for check, actual in zip(checks, outputs[: len(checks)], strict=True):
        problem = mismatch(check, np.asarray(actual), np.asarray(values[check.expected]))
        if problem:
            text = f"'{check.name}' failed on {target.name} at phase {phase}: {problem}"
            raise RunFailure(at_op(check, text))
    return len(checks)


def _program(function: FuncOp, wanted: Sequence[SSAValue]) -> tuple[ModuleOp, list[Array]]:
    """Return a module whose @main computes the requested values, and its arguments."""
    mapping: dict[SSAValue, SSAValue] = {}
    inputs: list[Array] = []
    needed = _needed(wanted)
    block = Block()
    for op in function.body.block.ops:
        if op not in needed:
            continue
        if isinstance(op, ConstantOp) and _is_input(op):
            mapping[op.result] = block.insert_arg(op.result.type, len(block.args))
            inputs.append(constant_array(op))
        else:
            block.add_op(op.clone(mapping))
    results = [mapping[value] for value in wanted]
    leaves: ArrayAttr[Any] = ArrayAttr([result.type for result in results])
    root = TupleOp.create(operands=results, result_types=[TupleType(leaves)])
    block.add_ops([root, ReturnOp(root.results[0])])
    types = ([arg.type for arg in block.args], [root.results[0].type])
    main = FuncOp("main", types, Region(block))
    main.attributes["hlo.entry"] = UnitAttr()
    name = {"hlo.module_name": StringAttr(function.sym_name.data)}
    others: list[Operation] = [
        other.clone()
        for other in _module_of(function).ops
        if isinstance(other, FuncOp)
        and other is not function
        and other.body.block.args
        and other.sym_name.data != main.sym_name.data  # another program of the file
    ]
    return ModuleOp([main, *others], name), inputs


def _needed(values: Sequence[SSAValue]) -> set[Operation]:
    """Return the ops that compute `values`: a program has no unused inputs."""
    found: set[Operation] = set()
    pending = list(values)
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and op not in found:
            found.add(op)
            pending += op.operands
    return found


def _is_input(op: ConstantOp) -> bool:
    type_: Any = op.result.type
    return isinstance(type_, TensorType) and type_.get_num_dims() > 0


def _module_of(function: FuncOp) -> ModuleOp:
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    return module


def compiled(module: ModuleOp, target: TargetLike, phase: str, registry: Registry) -> ModuleOp:
    """Return the module in a phase, through phase `tiled` if the direct path rejects it."""
    direct = clone(module)
    try:
        _run_phases(direct, target, phase, registry, tiled=False)
    except RunFailure as refused:
        if refused.internal or not can_tile(target):
            raise
        try:
            _run_phases(module, target, phase, registry, tiled=True)
        except RunFailure as failure:
            if failure.internal:
                raise
            raise refused from failure
        return module
    return direct


def _run_phases(
    module: ModuleOp, target: TargetLike, phase: str, registry: Registry, *, tiled: bool
) -> None:
    ctx = registry.context()
    runner = PassRunner(ctx, Dumper(DumpOptions(), ctx), Timer())
    for step in phases_between(PHASES[0], phase, tiled=tiled):
        text = pipeline_of(target, step, "none", "bf16", 2, tiled=tiled)
        passes = parse_pipeline(text, registry.passes, registry.pipelines)
        try:
            runner.run(passes, module)
        except RunFailure as failure:
            # The number of the pass does not refer to the user's pipeline.
            raise RunFailure(failure.diagnostic, internal=failure.internal) from failure
