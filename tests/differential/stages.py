"""Compile a program step by step, run it after each step, and compare with the interpreter."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, StringAttr

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.hlo.interpreter_bounds import bounds
from neuronir.dialects.hlo.interpreter_noise import noise
from neuronir.dialects.nc.structure import VariableOp
from neuronir.dialects.support.compare import Report, compare
from neuronir.driver.phases import phases_between, pipeline_of
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.pipeline import parse_pipeline
from neuronir.registry import Registry
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.ir_runner import run_module

Array = NDArray[Any]
NC_PHASES = ("virtual", "ordered", "allocated", "synchronised")
REGISTRY = Registry.discover()


@dataclass
class Stage:
    """The outputs of one phase."""

    phase: str
    outputs: list[Array]


def stages(
    text: str,
    args: Sequence[Array],
    cast: str = "none",
    phases: Sequence[str] = (*NC_PHASES, "binary"),
    target: str = "trn1",
) -> Iterator[Stage]:
    """Run `text` after each of `phases`; the binary with the race checker. It goes through phase
    `tiled` if that is one of them.

    NeuronError (or what else a pass raises) passes through.
    """
    plugin = get_target(target)
    ctx = REGISTRY.context()
    module = import_hlo_text(text, "test.hlo")
    module.attributes["nc.machine"] = StringAttr(plugin.name)
    tiled = "tiled" in phases
    for phase in phases_between("parsed", NC_PHASES[-1], tiled=tiled):
        pipeline = pipeline_of(plugin, phase, cast, "bf16", 2, tiled=tiled)
        for one in parse_pipeline(pipeline, REGISTRY.passes, REGISTRY.pipelines):
            one.apply(ctx, module)
        module.verify()
        module.attributes["neuronir.phase"] = StringAttr(phase)
        if phase in phases:
            yield Stage(phase, _run(module, phase, args))
    if "binary" in phases:
        program = program_from_module(module, plugin.machine)
        given = {v.index for v in program.variables if v.kind == "input"}
        inputs = [a for i, a in enumerate(args) if i in given]
        yield Stage("binary", run(program, inputs, plugin.machine, Options(races=True)).outputs)


def _run(module: ModuleOp, phase: str, args: Sequence[Array]) -> list[Array]:
    if phase in ("hlo", "tiled"):
        return interpret(module, args)
    given = {
        op.index.value.data
        for op in module.ops
        if isinstance(op, VariableOp) and op.kind.data == "input" and op.index is not None
    }
    return run_module(module, [a for i, a in enumerate(args) if i in given])


def judge(
    module: ModuleOp,
    outputs: Sequence[Array],
    args: Sequence[Array],
    reference: Mapping[str, Array],
    cast: str = "none",
) -> Report:
    """Compare within the derived bounds (docs/numerics.md), with measured conditioning where
    rounding alone does not explain a difference."""
    precision = "fp32" if cast == "none" else "bf16"
    allowed = bounds(module, precision)
    report = compare(outputs, reference, rtol=allowed)
    if report.ok:
        return report
    measured = [n if np.isfinite(n) else 0.0 for n in noise(module, args, precision)]
    return compare(outputs, reference, rtol=allowed, atol=measured)


def failures(
    text: str,
    args: Sequence[Array],
    cast: str = "none",
    reference: Mapping[str, Array] | None = None,
    phases: Sequence[str] = (*NC_PHASES, "binary"),
) -> list[str]:
    """What is wrong in which phase: against `reference`, or else the interpreter.

    The first phase of nc, and what comes before, is judged by the bounds; later ones must have the
    very same bits.
    """
    module = import_hlo_text(text, "test.hlo")
    if reference is None:
        with np.errstate(all="ignore"):
            reference = {f"out{i}": x for i, x in enumerate(interpret(module, args))}
    wrong: list[str] = []
    first: list[Array] | None = None
    for stage in stages(text, args, cast, phases):
        if first is None:
            report = judge(module, stage.outputs, args, reference, cast)
            if not report.ok:
                return [f"{stage.phase}: {report.render()}"]
            if stage.phase not in ("hlo", "tiled"):
                first = stage.outputs
            continue
        for i, (mine, before) in enumerate(zip(stage.outputs, first, strict=True)):
            if mine.tobytes() != before.tobytes():
                wrong.append(f"{stage.phase}: out{i} differs from that of the phases before")
    return wrong
