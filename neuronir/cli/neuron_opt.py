"""neuron-opt: read IR, run passes, print IR."""

import os
import sys
import tempfile
import traceback
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import ArgSpecParseError

from neuronir._xdsl import print_module
from neuronir.cli import neuron_opt_lists as lists
from neuronir.cli.bindings_args import bindings_of
from neuronir.cli.neuron_opt_args import build_parser, loaded_files, normalise
from neuronir.cli.neuron_opt_formats import print_as
from neuronir.cli.program import INTERNAL, OK, USAGE, USER_ERROR, UsageError, guarded
from neuronir.diagnostics.codes import explain
from neuronir.diagnostics.engine import DiagnosticEngine
from neuronir.diagnostics.expected import check_expectations
from neuronir.diagnostics.output import atomic_write, check_outputs, write_stdout
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import configuration as reproducer
from neuronir.driver.dumper import Dumper, DumpOptions, names
from neuronir.driver.module_input import Chunk, parse, read_input, split
from neuronir.driver.pass_runner import PassRunner, RunFailure, verify
from neuronir.driver.timer import Timer, statistics_report, timing_report
from neuronir.passes import statistics
from neuronir.passes.nc.borders import Borders
from neuronir.pipeline import PipelineError, parse_pipeline, pipeline_text
from neuronir.registry import Registry
from neuronir.version import __version__

ELIDED_ON_TERMINAL = 64
"""On a terminal, constants with more elements are elided."""


@dataclass
class Job:
    """One run of the program: its options, its registries, and its messages so far."""

    args: Namespace
    registry: Registry
    passes: list[ModulePass]
    verify_each: bool
    engine: DiagnosticEngine
    timer: Timer = field(default_factory=Timer)

    @property
    def elide_above(self) -> int | None:
        """The number of elements above which constants are elided; None for no limit.

        On a terminal large constants would bury the IR. Files and pipes get all elements, so that
        their text can be parsed again.
        """
        limit: int | None = self.args.elide_elementsattrs_if_larger
        if limit is None and self.args.output in (None, "-") and sys.stdout.isatty():
            return ELIDED_ON_TERMINAL
        return limit

    def context(self) -> Context:
        """Return a new context: parts of a split input must not affect each other."""
        return self.registry.context(allow_unregistered=self.args.allow_unregistered_dialect)

    def dumper(self, ctx: Context) -> Dumper:
        """Return the dumps that the options request."""
        args = self.args
        after = args.print_ir_after
        asked = args.print_ir_before or after or args.print_ir_after_change
        if args.print_ir_tree_dir and not asked:
            after = "*"
        options = DumpOptions(
            before=names(args.print_ir_before),
            after=names(after),
            after_change=args.print_ir_after_change,
            after_failure=args.print_ir_after_failure,
            tree_dir=args.print_ir_tree_dir,
            elide_above=self.elide_above,
            debuginfo=args.mlir_print_debuginfo,
            generic=args.print_op_generic,
        )
        return Dumper(options, ctx)

    def process(self, chunk: Chunk) -> str:
        """Parse, verify, run and print one chunk; return the text."""
        ctx = self.context()
        with self.timer.step("Parser"):
            module = parse(chunk, ctx, implicit_module=not self.args.no_implicit_module)
        with self.timer.step("Verifier"):
            verify(module)
        borders = Borders() if self.verify_each else None
        runner = PassRunner(ctx, self.dumper(ctx), self.timer, self.verify_each, borders)
        runner.run(self.passes, module)
        if self.args.run:
            with self.timer.step("Evaluate"):
                return self.evaluate(module)
        with self.timer.step("Output"):
            return self.emit(ctx, module)

    def evaluate(self, module: ModuleOp) -> str:
        """Run the entry function on --inputs, or functions without arguments; return the results.

        An nc module always runs as a whole.
        """
        args = self.args
        if args.inputs or args.outputs or any(op.name == "nc.func" for op in module.ops):
            from neuronir.cli.neuron_opt_inputs import run_program

            return run_program(module, args.run, args.inputs, args.outputs, self.registry)
        from neuronir.cli.neuron_opt_evaluate import evaluate

        return evaluate(module, args.run, self.registry)

    def emit(self, ctx: Context, module: ModuleOp) -> str:
        """Print the module in the format of -t."""
        stream = StringIO()
        spec = parse_spec(self.args.target)
        if spec.name == "mlir":
            print_module(
                module,
                stream,
                ctx,
                elide_above=self.elide_above,
                debuginfo=self.args.mlir_print_debuginfo,
                generic=self.args.print_op_generic,
            )
            return stream.getvalue()
        return print_as(self.registry.formats[spec.name], spec, ctx, module)

    def reproduce(self, chunk: Chunk, failure: RunFailure) -> None:
        """Write a reproducer if requested, or for a compiler bug."""
        asked = self.args.crash_reproducer
        if failure.index is None or not (asked or failure.internal):
            return
        local = self.args.local_reproducer or not asked
        first = failure.index if local else 0
        # Passes are deterministic: the IR at any point can be rebuilt by running up to it, so a
        # successful run has no overhead.
        ctx = self.context()
        try:
            module = parse(chunk, ctx, implicit_module=not self.args.no_implicit_module)
            runner = PassRunner(ctx, Dumper(DumpOptions(), ctx), Timer(), verify_each=False)
            runner.run(self.passes[:first], module)
        except RunFailure:
            first = 0
            module = parse(chunk, ctx, implicit_module=not self.args.no_implicit_module)
        stream = StringIO()
        print_module(module, stream, ctx)
        configuration = reproducer.Configuration(
            pipeline_text(self.passes[first:]),
            self.verify_each,
            self.args.allow_unregistered_dialect,
            self.args.load,
        )
        if not asked:
            handle, asked = tempfile.mkstemp(prefix="neuron-opt-reproducer-", suffix=".mlir")
            os.close(handle)
        text = reproducer.render(configuration, stream.getvalue(), failure.diagnostic.text)
        atomic_write(asked, text)
        print(f"note: reproducer written to {asked}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuron-opt; return the exit status."""
    debug = ("debug", "stacktrace-on-diagnostic")
    return guarded(
        "neuron-opt", _main, argv, parser=build_parser, debug_options=debug, on_error=_show
    )


def _show(error: NeuronError) -> int:
    print(f"neuron-opt: {error.render()}", file=sys.stderr)
    return USAGE if isinstance(error, PipelineError) else USER_ERROR


def _main(words: list[str]) -> int:
    registry = Registry.discover()
    for path in loaded_files(words):
        registry.load_file(path)
    parser = build_parser()
    parser.words = [f"--{name}" for name in registry.passes]
    args = parser.parse_args(normalise(parser, words, registry.passes))
    answer = _answer(args, registry)
    if answer is not None:
        write_stdout(answer)
        return OK
    _check_format(args, registry)
    check_outputs(args.output, args.outputs)
    if (args.inputs or args.outputs) and not args.run:
        raise UsageError("--inputs and --outputs need --run")
    chunk = replace(read_input(args.input, args.frontend), bindings=bindings_of(args))
    job = _make_job(args, registry, chunk.text, chunk.name)
    statistics.reset(gains=args.pass_statistics)
    outputs, status = _run(job, chunk)
    _report(job)
    if outputs and (status == OK or args.output is None):
        result = "// -----\n".join(outputs)
        if args.output in (None, "-"):
            write_stdout(result)
        else:
            atomic_write(args.output, result)
    return status


def _answer(args: Namespace, registry: Registry) -> str | None:
    """Return the output of an informational option."""
    if args.version:
        return f"neuron-opt {__version__} (xdsl {version('xdsl')})\n"
    if args.list_passes:
        return lists.list_passes(registry)
    if args.list_dialects:
        return lists.list_dialects(registry)
    if args.list_targets:
        return lists.list_machine_targets()
    if args.list_pipelines:
        return lists.list_pipelines(registry)
    if args.doc_passes:
        return lists.document_passes(registry)
    if args.help_pass is not None:
        return lists.help_pass(registry, args.help_pass)
    if args.explain is not None:
        return explain(args.explain)
    return None


def _check_format(args: Namespace, registry: Registry) -> None:
    try:
        spec = parse_spec(args.target)
    except ArgSpecParseError:
        raise UsageError(f"malformed format '{args.target}'") from None
    if spec.name not in registry.formats:
        raise UsageError(
            f"unknown format '{spec.name}' (choose from {', '.join(sorted(registry.formats))})"
        )


def _make_job(args: Namespace, registry: Registry, text: str, name: str) -> Job:
    if args.passes is not None and args.pipeline is not None:
        raise UsageError("give --passes or --pipeline, not both")
    pipeline = f"@{args.pipeline.removeprefix('@')}" if args.pipeline else args.passes or ""
    verify_each = args.verify_each in ("1", "true")
    if args.run_reproducer:
        if pipeline:
            raise UsageError("--run-reproducer takes the pipeline from the input; give none")
        configuration = reproducer.read(text)
        pipeline, verify_each = configuration.pipeline, configuration.verify_each
        args.allow_unregistered_dialect |= configuration.allow_unregistered
        for path in configuration.load:
            if path not in args.load:
                registry.load_file(path)
    passes = parse_pipeline(pipeline, registry.passes, registry.pipelines)
    unknown = (names(args.print_ir_before) | names(args.print_ir_after)) - {"*"}
    for wanted in sorted(unknown - registry.passes.keys()):
        raise UsageError(f"--print-ir-before/after: unknown pass '{wanted}'")
    if args.dump_pass_pipeline:
        print(f"builtin.module({pipeline_text(passes)})", file=sys.stderr)
    engine = DiagnosticEngine(name, {name: text}, quiet=args.verify_diagnostics)
    return Job(args, registry, passes, verify_each, engine)


def _run(job: Job, whole: Chunk) -> tuple[list[str], int]:
    """Run all chunks; return the texts of successful ones, and the worst exit status."""
    outputs: list[str] = []
    status = OK
    for chunk in split(whole, parts=job.args.split_input_file):
        if job.args.split_input_file and not chunk.text.strip() and chunk.model is None:
            continue
        job.engine.emitted.clear()
        failure: RunFailure | None = None
        with job.engine.listening():
            try:
                outputs.append(job.process(chunk))
            except RunFailure as caught:
                failure = caught
                if job.args.debug:
                    traceback.print_exc()
                job.engine.emit(failure.diagnostic)
                job.reproduce(chunk, failure)
        if job.args.verify_diagnostics and not (failure and failure.internal):
            try:
                problems = check_expectations(chunk.text, whole.name, job.engine.emitted)
            except ValueError as error:
                raise UsageError(f"--verify-diagnostics: {error}") from error
            for problem in problems:
                job.engine.show(problem)
            status = max(status, USER_ERROR if problems else OK)
        elif failure:
            if job.engine.quiet:
                job.engine.show(failure.diagnostic)
            status = max(status, INTERNAL if failure.internal else USER_ERROR)
    return outputs, status


def _report(job: Job) -> None:
    if job.args.pass_statistics:
        print(statistics_report(statistics.snapshot()), file=sys.stderr)
    if job.args.timing:
        print(timing_report(job.timer, job.args.timing), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
