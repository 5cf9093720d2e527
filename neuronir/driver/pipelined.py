"""Compile a model for several cores: split it into stages, and balance them by simulated time.

The first split uses estimates (passes/hlo/stages/costs.py). The stages are then compiled and timed,
the costs of their units are scaled to the simulated times, and the program is split again, as long
as the slowest stage becomes faster. While cuts are compared, stages that differ in weights only,
such as the layers of a transformer, are compiled once.
"""

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.instruction import Program, Variable
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.diagnostics import warning
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.compiler import compile_file, compile_module
from neuronir.driver.metadata import metadata_of
from neuronir.driver.options import CompileOptions
from neuronir.driver.pass_runner import RunFailure
from neuronir.driver.result import CompiledResult
from neuronir.driver.timer import Timer
from neuronir.driver.weights import entry_function, parameter_names
from neuronir.passes.hlo.stages.build import Stage, build_stages
from neuronir.passes.hlo.stages.costs import ENGINES, Floats, live_bytes, unit_costs
from neuronir.passes.hlo.stages.cuts import Cuts, find_cuts
from neuronir.passes.hlo.stages.form import Form, form_of
from neuronir.passes.hlo.stages.graph import Graph
from neuronir.targets.neff.pipeline import write_pipeline
from neuronir.targets.pipeline import HOST, Feed, Pipeline
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.pipelined import stage_time
from neuronir.version import __version__

ROUNDS = 2
"""Limit of repeated splits."""
_WORTH = 0.97
"""A new split is tried if its slowest stage would take at most this fraction of the time."""
_WEIGHTS = 2e7
"""Weights of four cores, by the published rule: 4 * round(weights / 2e7) cores."""


@dataclass
class PipelinedResult:
    """The result of a compile for several cores."""

    pipeline: Pipeline
    stages: list[CompiledResult]
    timer: Timer = field(default_factory=Timer)

    @property
    def parts(self) -> tuple[CompiledResult, ...]:
        """The compiles for single cores that it consists of."""
        return tuple(self.stages)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the container atomically."""
        write_pipeline(self.pipeline, path, __version__, self.stages[0].encoding)


def compile_pipelined(
    path: str, target: str, options: CompileOptions, cores: int
) -> PipelinedResult:
    """Compile the model in a file for a pipeline of at most `cores` cores.

    Raises NIR_ARG002 if no instance of the target has that many cores. Warns if fewer stages are as
    fast, because the other cores would be idle.
    """
    machine = get_target(target).machine
    check_cores(cores, machine)
    whole = compile_file(path, target, replace(options, compile_to="hlo"))
    cutter = _Cutter(whole, machine, options, cores)
    cuts = cutter.balanced()
    if cuts.stages < cores:
        warning(
            f"The requested number of neuroncore-pipeline-cores ({cores}) may not be suitable for "
            f"this network: it is cut into {cuts.stages} stages, of which the slowest would not be "
            "faster with more cores; "
            f"by the rule 4 * round(weights / 2e7) it is made for {cutter.rule()}"
        )
    return cutter.result(cuts)


def check_cores(cores: int, machine: Machine) -> None:
    """Raise NIR_ARG002 for a number of cores that no instance has."""
    if not 1 <= cores <= machine.cores:
        raise NeuronError(
            "NIR_ARG002",
            f"--neuroncore-pipeline-cores {cores}: the largest instance of {machine.name} has "
            f"{machine.cores} cores",
            help=f"use 1 to {machine.cores} cores",
        )


class _Cutter:
    """Cuts a module in phase hlo, and compiles stages, one of each form."""

    def __init__(
        self, whole: CompiledResult, machine: Machine, options: CompileOptions, cores: int
    ) -> None:
        self.whole = whole
        self.machine = machine
        self.options = options
        self.cores = cores
        self.graph = Graph.of(entry_function(whole.module).body.block)
        if not self.graph.units:
            raise NeuronError(
                "NIR_DRV013",
                "the program computes nothing that could be cut into stages",
                help="use --neuroncore-pipeline-cores 1",
            )
        self.sent = live_bytes(self.graph)
        self.known: dict[tuple[int, int, int], CompiledResult] = {}
        self.alike: dict[Form, CompiledResult] = {}  # the first stage of each form
        self.times: dict[tuple[int, int], float] = {}  # of the stages of the latest cuts, in ns

    def rule(self) -> int:
        """Return the cores that the published rule gives for the weights, which are the
        constants.
        """
        types = [op.results[0].type for op in self.graph.copied if op.name == "hlo.constant"]
        weights = sum(prod(t.get_shape()) for t in types if isinstance(t, TensorType))
        return max(1, 4 * round(weights / _WEIGHTS))

    def balanced(self) -> Cuts:
        """Return the best cuts of all that were compiled."""
        costs = unit_costs(self.graph, self.machine)
        cuts = find_cuts(costs, self.sent, self.machine, self.cores)
        best, least = cuts, self.slowest(cuts)
        for _ in range(ROUNDS if self.cores > 1 else 0):
            costs = self.scaled(costs, cuts)
            cuts = find_cuts(costs, self.sent, self.machine, self.cores)
            if cuts.bottleneck_ns > _WORTH * least:
                break
            if (time := self.slowest(cuts)) < least:
                best, least = cuts, time
        return best

    def scaled(self, costs: Floats, cuts: Cuts) -> Floats:
        """Return the costs with the engines' times of each stage scaled to its simulated time:
        waits and rows that are not full are spread over its units. The times of transfers follow
        from their bytes.
        """
        out = costs.copy()
        for low, high in zip(cuts.bounds, cuts.bounds[1:], strict=False):
            estimate = float(costs[low:high, :ENGINES].sum(axis=0).max())
            out[low:high, :ENGINES] *= self.times[low, high] / estimate
        return out

    def slowest(self, cuts: Cuts) -> float:
        """Return the simulated time of the slowest stage or link, in ns."""
        stages = build_stages(self.whole.module, self.graph, cuts.bounds)
        slowest = 0.0
        self.times.clear()
        for number, stage in enumerate(stages):
            low, high = cuts.bounds[number : number + 2]
            form = form_of(stage.module)
            if form not in self.alike:
                self.alike[form] = self.compiled(stage, number, None)
                self.known[low, high, number] = self.alike[form]
            program = self.alike[form].program
            assert program is not None
            sent = float(self.sent[low])
            time = stage_time(program, number, cuts.stages, sent, self.machine)
            self.times[low, high] = time.run_ns
            slowest = max(slowest, time.run_ns, time.link_ns)
        return slowest

    def compiled(
        self, stage: Stage, number: int, dumps: str | None, tiling: str | None = None
    ) -> CompiledResult:
        """Return a stage compiled; its phases are written below `dumps`."""
        folder = None if dumps is None else os.path.join(dumps, f"stage{number:02d}")
        options = replace(
            self.options,
            compile_from="hlo",
            compile_to="binary",
            weights={},
            dump_phases_to=folder,
            tiling=tiling or self.options.tiling,
        )
        name = f"{self.whole.name}: stage {number}"
        return compile_module(stage.module, self.machine.name, options, name=name)

    def finished(
        self, stage: Stage, number: int, low: int, high: int, dumps: str | None
    ) -> CompiledResult:
        """Return a stage of the final cuts, compiled as the stage of the same form was.

        With `dumps`, it is compiled again, because other cuts were tried meanwhile.
        """
        if dumps is None and (low, high, number) in self.known:
            return self.known[low, high, number]
        alike = self.alike[form_of(stage.module)]
        if self.options.tiling == "auto":
            tiling = "always" if alike.tiled else "never"
            with suppress(RunFailure, NeuronError):  # smaller tiles may be needed
                return self.compiled(stage, number, dumps, tiling)
        return self.compiled(stage, number, dumps)

    def result(self, cuts: Cuts) -> PipelinedResult:
        """Return the pipeline of these cuts, whose stages are compiled."""
        graph = self.graph
        built = build_stages(self.whole.module, graph, cuts.bounds)
        dumps = self.options.dump_phases_to
        compiled = [
            self.finished(stage, number, cuts.bounds[number], cuts.bounds[number + 1], dumps)
            for number, stage in enumerate(built)
        ]
        where: dict[SSAValue, Feed] = {
            argument: Feed(HOST, i) for i, argument in enumerate(graph.block.args)
        }
        feeds = []
        for number, stage in enumerate(built):
            feeds.append([where[value] for value in stage.arguments])
            where |= {value: Feed(number, i) for i, value in enumerate(stage.results)}
        results = [where[leaf] for leaf in graph.leaves]
        programs = [one.program for one in compiled if one.program is not None]
        sent = [int(self.sent[low]) for low in cuts.bounds[:-1]]
        interface = self.interface()
        return PipelinedResult(
            Pipeline(interface, programs, feeds, results, sent), compiled, self.whole.timer
        )

    def interface(self) -> Program:
        """Return the inputs that are used and the outputs of the whole program, with its
        metadata.
        """
        names = parameter_names(self.whole.module)
        variables = [
            _variable(names[i] or f"arg{i}", "input", value, i)
            for i, value in enumerate(self.graph.block.args)
            if value in self.graph.last or value in self.graph.leaves
        ]
        variables += [
            _variable(f"out{i}", "output", leaf, i) for i, leaf in enumerate(self.graph.leaves)
        ]
        metadata = metadata_of(self.whole.module, self.options)
        return Program(self.machine.name, "main", {}, variables, [], metadata)


def _variable(name: str, kind: str, value: SSAValue, index: int) -> Variable:
    type_ = value.type
    assert isinstance(type_, TensorType)
    dtype = dtype_of(type_.element_type)
    shape = tuple(type_.get_shape())
    return Variable(name, kind, prod(shape) * dtype.size, 0, shape, dtype, index=index)
