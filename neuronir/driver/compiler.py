"""Run the phases of a compile, with checks in between."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from neuronir._xdsl_verify import Verified
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.hlo.contents import contents_kept
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import register_machine
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.collector import collect_leftovers, few_collections
from neuronir.dialects.support.diagnostics import holding, release
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array
from neuronir.driver.dumper import Dumper, DumpOptions, Watcher
from neuronir.driver.dumps import dump_phase
from neuronir.driver.metadata import metadata_of
from neuronir.driver.middle import choose_middle, through_tiles
from neuronir.driver.module_input import Chunk, read_of_framework
from neuronir.driver.options import CompileOptions
from neuronir.driver.orders import fastest_order, time_of
from neuronir.driver.pass_runner import PassRunner, RunFailure, verify
from neuronir.driver.phases import (
    PHASES,
    can_tile,
    orders_of,
    phase_number,
    phases_between,
    pipeline_of,
)
from neuronir.driver.reproducer import write_reproducer
from neuronir.driver.result import CompiledResult, Unordered, encoding_of
from neuronir.driver.same_tiles import TiledPrograms
from neuronir.driver.source import PHASE_ATTRIBUTE, Source, with_bindings
from neuronir.driver.timer import Timer
from neuronir.driver.too_slow import check_work, first_limit_ns
from neuronir.driver.user_passes import UserPasses, UserPassFailure
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.models import Model
from neuronir.passes import statistics
from neuronir.passes.hlo.legality import register_legality
from neuronir.passes.nc.borders import Borders
from neuronir.passes.tile.searches import searches_kept
from neuronir.pipeline import parse_pipeline
from neuronir.registry import Registry
from neuronir.targets.encoding.encoding import check_registers
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.registry import TargetLike, get_target, legality_for
from neuronir.targets.simulator.timing import simulate_timing


def compile_file(path: str, target: str, options: CompileOptions | None = None) -> CompiledResult:
    """Compile the model in a file (HLO text, or IR with `compile_from`)."""
    options = options or CompileOptions()
    chosen = get_target(target)  # report an unknown target before anything is read
    as_ir = options.compile_from != PHASES[0]
    chunk = read_of_framework(path, options.framework, as_ir=as_ir)
    return _Compile(chunk, chosen, options).run()


def compile_model(
    model: Model, target: str, options: CompileOptions | None = None
) -> CompiledResult:
    """Compile a model that a frontend has read."""
    chunk = Chunk("", model.name, "model", model)
    return _Compile(chunk, get_target(target), options or CompileOptions()).run()


def compile_text(
    text: str,
    target: str,
    options: CompileOptions | None = None,
    *,
    name: str = "<input>",
    kind: str = "hlo",
) -> CompiledResult:
    """Compile a model's text for a target; raises RunFailure or NeuronError."""
    return _Compile(Chunk(text, name, kind), get_target(target), options or CompileOptions()).run()


def compile_module(
    module: ModuleOp, target: str, options: CompileOptions, *, name: str = "<input>"
) -> CompiledResult:
    """Continue from a module in phase `options.compile_from`, which is not changed."""
    return _Compile(Chunk("", name, "mlir"), get_target(target), options, module).run()


def read_module(
    chunk: Chunk, target: str, options: CompileOptions
) -> tuple[ModuleOp, CompileOptions]:
    """Return the module of an input in phase `parsed`, with bound weights and its origin, and the
    options with which `compile_module` continues. RunFailure or NeuronError.
    """
    compiling = _Compile(chunk, get_target(target), options)
    module = compiling.source.read()
    rest = replace(
        options,
        weights={},
        bindings=Bindings(),
        framework=None,
        narrow_integers=compiling.source.narrow,
    )
    return module, rest


class _Compile:
    """One compile: of the given module, or else of the chunk's contents."""

    def __init__(
        self,
        chunk: Chunk,
        target: TargetLike,
        options: CompileOptions,
        module: ModuleOp | None = None,
    ) -> None:
        frozen = {name: _frozen(array) for name, array in options.weights.items()}
        options = replace(options, weights=frozen)
        self.chunk = with_bindings(chunk, options)
        self.target = target
        self.options = options
        if target.machine.name != target.name:
            raise NeuronError(
                "NIR_TARGET",
                f"the machine of target '{target.name}' is named '{target.machine.name}'",
                help="the machine of a target must have the name of the target",
            )
        register_machine(target.machine)  # passes find both by name
        register_legality(legality_for(target))
        self.users = options.user_passes or UserPasses(Registry.discover(), {})
        self.registry = self.users.registry
        self.source = Source(self.chunk, target, options, self.registry, module)
        self.source.check_precision()
        self.timer = Timer()
        self.borders = Borders()
        self.verified = Verified()
        self.first = phase_number(options.compile_from, "--compile-from")
        self.last = phase_number(options.compile_to, "--compile-to")
        if self.first == len(PHASES) - 1 or self.last < self.first:
            raise NeuronError(
                "NIR_DRV001",
                f"there is nothing to do from phase '{options.compile_from}' to "
                f"'{options.compile_to}'",
                help=f"phases in order: {', '.join(PHASES)}",
            )

    def run(self) -> CompiledResult:
        """Run all requested phases."""
        collect_leftovers("compiles", "runs")
        with few_collections(), contents_kept():
            result = self._run()
        self.users.tell_unused(result.phase, tiled=result.tiled)
        return result

    def _run(self) -> CompiledResult:
        module = self.load()
        if self.first == 0 < self.last:
            self.source.tell_precision(module)
        first, last = PHASES[self.first], PHASES[self.last]
        self.after(first, module, self.users.after.get(first, "") if self.first == 0 else "")
        result = self.result(module, first)
        middle = PHASES.index("tiled")
        wanted = self.options.tiling == "always" or middle in (self.first, self.last)
        if wanted and not can_tile(self.target):
            raise NeuronError(
                "NIR_DRV011",
                f"target {self.target.name} has no phase 'tiled'",
                help="remove --tiling, or compile from or to another phase",
            )
        if self.first >= middle or self.last < middle:
            return self.phases(result, last, tiled=self.first == middle)
        result = self.phases(result, "hlo", tiled=False)
        if last == "tiled":
            return self.phases(result, last, tiled=True)
        if self.options.tiling == "never" or not can_tile(self.target):
            return self.phases(result, last, tiled=False)
        return self.faster(result, last)

    def result(self, module: ModuleOp, phase: str) -> CompiledResult:
        """Return the initial result at the beginning of a phase."""
        name = self.chunk.name
        return CompiledResult(phase, module, self.target, self.registry, name, timer=self.timer)

    def phases(
        self,
        result: CompiledResult,
        last: str,
        *,
        tiled: bool,
        pipelines: Mapping[str, str] | None = None,
        final: bool = True,
        load: Callable[[], ModuleOp] | None = None,
        attempts: TiledPrograms | None = None,
        limit_ns: float = inf,
        first: bool = True,
    ) -> CompiledResult:
        """Continue to a phase, with or without phase `tiled`.

        `pipelines` replace the default ones. Only `final` results are dumped and watched. `load`
        rebuilds the module of `result` for a reproducer; by default that is the input. Raises
        SameTiles if one of the earlier `attempts` has the same tiled program, and TooSlow if the
        work of phase `virtual` takes longer than `limit_ns`, or a part of it for a long program
        without phase `tiled` that is the `first` attempt.
        """
        module = result.module
        done: list[tuple[str, list[ModulePass]]] = []
        for phase in phases_between(result.phase, last, tiled=tiled):
            with self.options.progress(phase), self.timer.step(phase) as step:
                if phase == "binary":
                    result.program = self.binary(module)
                else:
                    text = (pipelines or {}).get(phase) or self.pipeline(phase, tiled=tiled)
                    searched = len(self.orders) > 1 and "ordered" not in (pipelines or {})
                    if phase == "ordered" and searched:
                        text = self.fastest_order(module, step)
                    passes = parse_pipeline(text, self.registry.passes, self.registry.pipelines)
                    done.append((text, passes))
                    rebuild = load or self.load
                    self.passes(phase, module, done, step, rebuild, watch=final)
                    text += self.user_passes(phase, module, done, step, rebuild, watch=final)
                    self.after(phase, module, text, dump=final)
            result.phase = phase
            if phase == "virtual" and limit_ns < inf:
                shorter = first and not tiled
                limit = first_limit_ns(module, limit_ns) if shorter else limit_ns
                check_work(module, self.target.machine, limit)
            if phase == "tiled":
                result.tiled = True
                if attempts is not None:
                    attempts.add(module)
        return result

    def faster(self, result: CompiledResult, last: str) -> CompiledResult:
        """Continue from `hlo` without phase `tiled`, and with it if that may be faster.

        The program with the shorter simulated time is the result.
        """
        o = self.options
        final = last == "binary" and o.dump_phases_to is None and o.watch is None
        attempts = TiledPrograms()

        def compiled(
            tiled: bool,
            pipelines: Mapping[str, str] | None = None,
            limit_ns: float = inf,
            first: bool = True,
        ) -> CompiledResult:
            copy = self.result(clone(result.module), result.phase)
            try:
                with holding(copy.messages), statistics.collected(copy.counts):
                    self.phases(
                        copy,
                        "virtual" if len(self.orders) > 1 else "binary",
                        tiled=tiled,
                        pipelines=pipelines,
                        final=final,
                        load=lambda: clone(result.module),
                        attempts=attempts,
                        limit_ns=limit_ns,
                        first=first,
                    )
                return self.first_order(copy, final) if len(self.orders) > 1 else copy
            except UserPassFailure:  # which ends the compile
                release(copy.messages)
                raise

        machine = self.target.machine
        tiling = self.pipeline("tiled", tiled=True)
        always = o.tiling == "always"
        try:
            with searches_kept():
                if always:
                    _, chosen = through_tiles(result.module, machine, compiled, tiling)
                else:
                    thorough = o.optlevel > 2
                    chosen = choose_middle(result.module, machine, compiled, tiling, thorough)
        except RunFailure:
            if o.watch is not None:  # attempts are not watched: show the pass that fails
                with suppress(RunFailure):
                    self.phases(result, last, tiled=always)
            raise
        if final:
            best = self.best_order(chosen.result)
            release(best.messages)
            statistics.add(best.counts)
            return best
        return self.phases(result, last, tiled=chosen.tiled, pipelines=chosen.pipelines)

    def first_order(self, result: CompiledResult, final: bool) -> CompiledResult:
        """Continue an attempt from `virtual` to `binary` in the first of several orders.

        What the others start from is kept. They are tried at once if the first one fails.
        """
        module, counts = clone(result.module), Counter(result.counts)
        start = result.unordered = Unordered(module, counts, tuple(result.messages))
        try:
            return self.in_order(result, start.module, self.orders[0], final)
        except UserPassFailure:
            raise
        except RunFailure:
            result.unordered = None
            return self.in_order(self.restarted(result, start), start.module, None, final)

    def best_order(self, result: CompiledResult) -> CompiledResult:
        """Return the result in the fastest order; the first one has been tried."""
        start, result.unordered = result.unordered, None
        if start is None or result.program is None:
            return result
        time = simulate_timing(result.program, self.target.machine).total_ns
        with self.options.progress("ordered"), self.timer.step("ordered") as step:
            order = self.fastest_order(start.module, step, {self.orders[0]: time})
        if order == self.orders[0]:
            return result
        return self.in_order(self.restarted(result, start), start.module, order, True)

    def restarted(self, result: CompiledResult, start: Unordered) -> CompiledResult:
        """Return a result as it was at the end of phase `virtual`."""
        self.borders.restart()
        result.messages[:] = start.messages
        counts = Counter(start.counts)
        return replace(result, phase="virtual", module=clone(start.module), counts=counts)

    def in_order(
        self, result: CompiledResult, start: ModuleOp, order: str | None, final: bool
    ) -> CompiledResult:
        """Continue a copy of `start` from `virtual` to `binary` in an order, or in the fastest."""
        with holding(result.messages), statistics.collected(result.counts):
            return self.phases(
                result,
                "binary",
                tiled=result.tiled,
                pipelines=None if order is None else {"ordered": order},
                final=final,
                load=lambda: clone(start),
            )

    @property
    def orders(self) -> tuple[str, ...]:
        """The pipelines of phase `ordered`, of which the fastest one is taken."""
        return orders_of(self.target, self.options.optlevel)

    def fastest_order(self, module: ModuleOp, timer: Timer, known: Mapping[str, float] = {}) -> str:
        """Return the fastest order of a module in phase `virtual`; the times in ns of some may be
        `known`.
        """
        with timer.step("(orders)"):
            return fastest_order(module, self.orders, self.order_ns, known)

    def load(self) -> ModuleOp:
        """Return the input, after the user's passes of phase `parsed`."""
        with self.options.progress("parsed"), self.timer.step("parsed") as step:
            module = self.source.read(step, self.verified)
            if self.first == 0:
                self.user_passes(PHASES[0], module, [], step, self.source.read)
        return module

    def pipeline(self, phase: str, *, tiled: bool = False) -> str:
        """Return the pass string of a phase, with the options filled in."""
        o = self.options
        return pipeline_of(
            self.target,
            phase,
            o.auto_cast,
            o.auto_cast_type,
            o.optlevel,
            self.source.narrow,
            tiled,
            o.relayout,
        )

    def passes(
        self,
        phase: str,
        module: ModuleOp,
        done: Sequence[tuple[str, Sequence[ModulePass]]],
        timer: Timer,
        load: Callable[[], ModuleOp],
        *,
        watch: bool = True,
        verify_each: bool = False,
    ) -> None:
        """Run the last passes of `done` and verify.

        A compiler bug leaves a reproducer, from the module that `load` makes.
        """
        ctx = self.registry.context()
        dumper: Watcher = Dumper(DumpOptions(), ctx)
        if watch and self.options.watch is not None:
            dumper = self.options.watch(phase)
        runner = PassRunner(ctx, dumper, timer, verify_each, self.borders, self.verified)
        try:
            runner.run(done[-1][1], module)
            with timer.step("(verify)"):
                self.verify(phase, module)
            with timer.step("(verify nc)"):
                runner.check_border(module, phase)
        except RunFailure as failure:
            if failure.internal and self.options.reproducers:
                pipelines = [text for text, _ in done]
                write_reproducer(failure, load, pipelines, self.registry, self.chunk.name)
            raise

    def user_passes(
        self,
        phase: str,
        module: ModuleOp,
        done: list[tuple[str, list[ModulePass]]],
        timer: Timer,
        load: Callable[[], ModuleOp],
        *,
        watch: bool = True,
    ) -> str:
        """Run the user's passes after a phase and add them to `done`; return them as a pipeline
        that continues one.
        """
        passes = self.users.of(phase)
        if not passes:
            return ""
        text = self.users.after[phase]
        done.append((text, passes))
        module.attributes[PHASE_ATTRIBUTE] = StringAttr(phase)
        try:
            self.passes(phase, module, done, timer, load, watch=watch, verify_each=True)
        except RunFailure as failure:
            raise UserPassFailure(
                failure.diagnostic, internal=failure.internal, index=failure.index
            ) from failure
        return f",{text}"

    def verify(self, phase: str, module: ModuleOp) -> None:
        """Invalid IR between phases is a compiler bug."""
        try:
            verify(module, self.verified)
        except RunFailure as failure:
            found = failure.diagnostic
            text = f"internal error: the passes to phase '{phase}' made invalid IR: {found.text}"
            outer = Diagnostic("error", text, found.location, found.notes)
            raise RunFailure(outer, internal=True) from failure

    def after(self, phase: str, module: ModuleOp, pipeline: str, *, dump: bool = True) -> None:
        """Mark the module with its phase, and dump it on request."""
        module.attributes[PHASE_ATTRIBUTE] = StringAttr(phase)
        folder = self.options.dump_phases_to
        if folder is not None and dump:
            ctx = self.registry.context()
            files = [file.path for file in self.registry.files]
            name, target = self.chunk.name, self.target.name
            dump_phase(folder, phase, module, ctx, target, pipeline, name, files)

    def order_ns(self, module: ModuleOp, order: str, least_ns: float) -> float:
        """Return the simulated time in ns of a module in phase `virtual` in an order; see
        `time_of`.
        """
        ctx = self.registry.context()
        runner = PassRunner(ctx, Dumper(DumpOptions(), ctx), Timer(), verify_each=False)
        passes: list[ModulePass] = []
        for phase in ("ordered", "allocated", "synchronised"):
            text = order if phase == "ordered" else self.pipeline(phase)
            passes += parse_pipeline(text, self.registry.passes, self.registry.pipelines)
            passes += self.users.of(phase)

        def total_ns(left: Sequence[ModulePass], ordered: ModuleOp) -> float:
            runner.run(left, ordered)
            return simulate_timing(self.program(ordered, {}), self.target.machine).total_ns

        return time_of(module, passes, runner.run, total_ns, least_ns)

    def binary(self, module: ModuleOp) -> Program:
        """Return the program of a synchronised module, with its metadata."""
        return self.program(module, metadata_of(module, self.options))

    def program(self, module: ModuleOp, metadata: Mapping[str, str]) -> Program:
        """Return the program of a synchronised module in the form that the target can run."""
        machine = self.target.machine
        program = program_from_module(module, machine, metadata)
        program = encoding_of(self.target).legalise(program)
        check_registers(program, machine)
        return program


def _frozen(array: Array) -> Array:
    """Return the array, or a copy if it is writable: constants refer to it."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array
