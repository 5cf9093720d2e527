"""The command `compile` of both compilers: answer from the cache, or compile and keep the result.

The compiler is imported only if it runs, because an answer from the cache does not need it.
"""

import sys
import traceback
from argparse import Namespace
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from neuronir.cache_graphs import collecting
from neuronir.cli.bindings_args import bindings_of
from neuronir.cli.cc_cached import Keeper, collector_of, keeper_of
from neuronir.cli.cc_messages import Messages, sources_of
from neuronir.cli.program import INTERNAL, OK, USER_ERROR
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.inputs import listening
from neuronir.dialects.support.output import check_outputs
from neuronir.dialects.support.printable import printable
from neuronir.driver.phases import PHASES

if TYPE_CHECKING:
    from neuronir.dialects.support.npz import Array
    from neuronir.driver import CompiledResult, CompileOptions
    from neuronir.driver.pass_runner import RunFailure
    from neuronir.driver.pipelined import PipelinedResult
    from neuronir.driver.user_passes import UserPasses

STATUS = "Compiler status PASS"


def compile_model(args: Namespace, messages: Messages) -> int:
    """Compile as the command line says; return the exit status. Failures are written to the log
    too.

    `args` are the shared options (`cc_args.add_shared`) with model, framework, target, output,
    optlevel, native_int64 and `precision`, a Precision.
    """
    if args.report:
        return _report(args)
    try:
        check_outputs(args.output, args.logfile)
        args.user_passes = user_passes_of(args)
        args.bindings = bindings_of(args)  # read once: they are part of the key in the cache
        status = _cached(args, messages)
    except NeuronError as error:
        messages.lines.append(error.render())
        _log_failure(args, messages)
        raise
    if status == OK:
        messages.write_log(args.logfile)
    return status


def _report(args: Namespace) -> int:
    """Print the unsupported operators of a model; return 1 if there are any."""
    from neuronir.dialects.support.output import write_stdout
    from neuronir.driver.check import check_model
    from neuronir.driver.options import CompileOptions
    from neuronir.driver.pass_runner import RunFailure

    options = CompileOptions(
        bindings=bindings_of(args), framework=args.framework, user_passes=user_passes_of(args)
    )
    try:
        report = check_model(args.model[0], [args.target], options)
    except RunFailure as failure:
        print(failure.diagnostic.render({}, args.model[0]), file=sys.stderr)
        return USER_ERROR
    bad = [o for o in report.operators if o.why]
    lines = [f"{o.name} ({o.count}): {o.why[args.target]}" for o in bad]
    lines += [f"the program: {why}" for why in report.refused.values()]
    write_stdout("".join(f"{line}\n" for line in lines) or "all operators are supported\n")
    return USER_ERROR if lines else OK


def _cached(args: Namespace, messages: Messages) -> int:
    """Answer from the cache, or compile and store the result; return the exit status."""
    keeper = collector_of(args, messages) if collecting() else keeper_of(args, messages)
    if keeper is None:
        return _compile(args, messages, None)
    status = keeper.answer(args.output)
    if status is not None:
        if status == OK:
            messages.say("info", STATUS)
        else:
            _log_failure(args, messages)
        return status
    if collecting():
        keeper.collect(args.given)
        return OK
    with listening(keeper.readings):
        return _compile(args, messages, keeper)


def _compile(args: Namespace, messages: Messages, keeper: Keeper | None) -> int:
    """Compile, write the result and print the requested output; return the exit status."""
    if not args.weights:
        return _compile_with(dict, args, messages, keeper)
    import neuronir.dialects.support.npz  # noqa: F401  (numpy's modules are cyclic: by one thread)

    with ThreadPoolExecutor(1) as pool:  # the weights are read while the compiler is imported
        # In this context, so that listeners for opened files also see the weights.
        weights = pool.submit(copy_context().run, load_weights, args.weights)
        return _compile_with(weights.result, args, messages, keeper)


def _compile_with(
    weights: Callable[[], "dict[str, Array]"],
    args: Namespace,
    messages: Messages,
    keeper: Keeper | None,
) -> int:
    """Compile with the weights that a function returns."""
    from neuronir.driver.pass_runner import RunFailure
    from neuronir.driver.timer import statistics_report, timing_report
    from neuronir.passes import statistics

    options = compile_options(
        args,
        weights=weights(),
        compile_from=args.compile_from,
        compile_to=args.compile_to,
        dump_phases_to=args.dump_phases_to,
        bindings=args.bindings,
        framework=args.framework,
        progress=messages.phase,
        user_passes=args.user_passes,
    )
    statistics.reset(gains=args.pass_statistics)
    try:
        try:
            with messages.listening():
                result = _compiled(args, options)
            for part in result.parts:
                messages.compiled(part)
        except (RunFailure, NeuronError) as failure:
            if keeper is not None:
                _remember(failure, messages, keeper)
            raise
        if keeper is None:
            result.write(args.output)
        else:
            keeper.write(result, args.output)
    except RunFailure as failure:
        if args.debug:
            traceback.print_exc()
        name = printable(args.model[0])
        messages.fail(failure.diagnostic, sources_of(args.model[0], name), name)
        if failure.internal:
            messages.fault(failure)
        _log_failure(args, messages)
        return INTERNAL if failure.internal else USER_ERROR
    messages.say("info", STATUS)
    if args.timing:
        messages.show(100, timing_report(result.timer, "tree"))
    if args.pass_statistics:
        messages.show(100, statistics_report(statistics.snapshot()))
    return OK


def compile_options(args: Namespace, **more: Any) -> "CompileOptions":
    """Return the options of a compile: those of the command line that affect the result, and `more`
    fields of CompileOptions.
    """
    from neuronir.driver import CompileOptions

    return CompileOptions(
        auto_cast=args.precision.auto_cast,
        auto_cast_type=args.precision.auto_cast_type,
        relayout=args.precision.relayout,
        optlevel=args.optlevel,
        narrow_integers=True if args.native_int64 == "disabled" else None,
        tiling=args.tiling,
        **more,
    )


def user_passes_of(args: Namespace) -> "UserPasses | None":
    """Return the passes of --load and --pass-after; None if neither is given.

    Raises NeuronError for an unknown phase or pass, and for a phase that the compile does not run.
    """
    if not args.load and not args.pass_after:
        return None
    from neuronir.driver.phases import phase_number
    from neuronir.driver.user_passes import user_passes
    from neuronir.targets.registry import get_target

    phase_number(args.compile_from, "--compile-from")
    phase_number(args.compile_to, "--compile-to")
    found = user_passes(args.pass_after, args.load)
    target = get_target(args.target)
    found.check_phases(args.compile_from, args.compile_to, target, args.tiling)
    return found


def _remember(failure: "RunFailure | NeuronError", messages: Messages, keeper: Keeper) -> None:
    """Store a failure in the cache if the model causes it, and not this computer.

    Failures of frontends are not stored, because they are found quickly and may be caused by a
    missing package.
    """
    if isinstance(failure, NeuronError):
        diagnostic, internal = Diagnostic.from_error(failure), False
    else:
        diagnostic, internal = failure.diagnostic, failure.internal
    of_model = not internal and not diagnostic.of_computer
    if messages.phases[-1:] not in ([], [PHASES[0]]) and of_model:
        keeper.failed(diagnostic)


def _compiled(args: Namespace, options: "CompileOptions") -> "CompiledResult | PipelinedResult":
    """Compile for one core, or as a pipeline if that is requested."""
    if args.neuroncore_pipeline_cores > 1:
        from neuronir.driver.pipelined import compile_pipelined

        return compile_pipelined(
            args.model[0], args.target, options, args.neuroncore_pipeline_cores
        )
    from neuronir.driver import compile_file

    return compile_file(args.model[0], args.target, options)


def _log_failure(args: Namespace, messages: Messages) -> None:
    """Write the failure to the log file; if that fails, only the failure itself is reported."""
    with suppress(NeuronError):
        messages.write_log(args.logfile)


def load_weights(path: str) -> dict[str, "Array"]:
    """Return the arrays of an npz file by name."""
    from neuronir.dialects.support.npz import load_npz, unpack

    entries = load_npz(path)
    found = {name: unpack(entries, name) for name in entries if not name.endswith("__dtype")}
    for array in found.values():
        array.flags.writeable = False  # so that constants can refer to it
    return found
