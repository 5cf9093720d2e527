"""`neuronx-cc compile`: answer from the cache, or compile and keep the result.

The compiler is imported only where it runs: an answer from the cache needs none of it.
"""

import sys
import traceback
from argparse import Namespace
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from neuronir.cache import Cache, find_cache
from neuronir.cli.bindings_args import bindings_of
from neuronir.cli.neuronx_cc_args import ALIASES, remarks
from neuronir.cli.neuronx_cc_messages import Messages
from neuronir.cli.program import INTERNAL, OK, USER_ERROR
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import atomic_write
from neuronir.driver.phases import PHASES
from neuronir.targets.registry import is_ours

if TYPE_CHECKING:
    from neuronir.dialects.support.npz import Array

STATUS = "Compiler status PASS"

_OF_RESULT = (
    "target",
    "framework",
    "auto_cast",
    "auto_cast_type",
    "optlevel",
    "native_int64",
    "input_shape",
    "io_config",
    "signature",
)
"""The options that decide what comes out, and so belong to the key in the cache."""


def compile_model(args: Namespace, messages: Messages) -> int:
    """Compile as the command line says; the exit status. The log tells of a failure too."""
    for line in remarks(args):
        messages.say("warning", line)
    target = ALIASES.get(args.target, args.target)
    if target != args.target:
        messages.say("info", f"{args.target} has the core of {target}, which is compiled for")
    args.target = target
    args.auto_cast = "matmult" if args.auto_cast == "matmul" else args.auto_cast
    args.optlevel = 1 if args.enable_experimental_O1 else args.optlevel
    args.output = args.output or ("file.neff" if args.compile_to == PHASES[-1] else "file.mlir")
    if args.report:
        return _report(args)
    try:
        _check_output(args.output)
        status = _cached(args, messages)
    except NeuronError as error:
        messages.lines.append(error.render())
        _log_failure(args, messages)
        raise
    if status == OK:
        messages.write_log(args.logfile)
    return status


def _report(args: Namespace) -> int:
    """Print what of the model is not supported; 1 where something is not."""
    from neuronir.cli.neuron_opt_run import RunFailure
    from neuronir.dialects.support.output import write_stdout
    from neuronir.driver.check import check_model
    from neuronir.driver.options import CompileOptions

    options = CompileOptions(bindings=bindings_of(args), framework=args.framework)
    try:
        report = check_model(args.model[0], [args.target], options)
    except RunFailure as failure:
        print(failure.diagnostic.render({}, args.model[0]), file=sys.stderr)
        return USER_ERROR
    bad = [o for o in report.operators if o.why]
    lines = [f"{o.name} ({o.count}): {o.why[args.target]}" for o in bad]
    write_stdout("".join(f"{line}\n" for line in lines) or "all operators are supported\n")
    return USER_ERROR if bad else OK


def _cached(args: Namespace, messages: Messages) -> int:
    """The result from the cache, or from a compile whose result is then kept there."""
    cache = _cache(args)
    if cache is None:
        return _compile(args, messages)
    try:
        files = [*_model_files(args), *_further_files(args)]
        entry = cache.entry(files, {name: str(getattr(args, name)) for name in _OF_RESULT})
    except OSError:
        return _compile(args, messages)  # it says which file cannot be read, and why
    hit = cache.get(entry)
    if hit is not None:
        for level, text in hit.messages:
            messages.show(level, text)
        atomic_write(args.output, hit.data)
        messages.say("info", f"Using a cached neff: {entry.name}")
        messages.say("info", STATUS)
        return OK
    status = _compile(args, messages)
    if status == OK and Path(args.output).is_file():
        try:
            cache.put(entry, args.output, messages.heard)
        except OSError as error:
            messages.say("info", f"the result was not kept in the cache: {error}")
    return status


def _cache(args: Namespace) -> Cache | None:
    """The cache, unless this compile is asked for more than its result.

    Targets of other packages are left out: their source is not part of the key.
    """
    whole = (args.compile_from, args.compile_to) == (PHASES[0], PHASES[-1])
    more = args.dump_phases_to or args.timing or args.pass_statistics or args.debug
    if args.no_cache or more or not whole or args.model[0] == "-" or not is_ours(args.target):
        return None
    return find_cache(args.cache_dir)


def _further_files(args: Namespace) -> list[str]:
    """The files beside the model that decide what comes out; OSError where one cannot be read."""
    files = [args.weights] if args.weights else []
    if args.io_config and Path(args.io_config).is_file():
        files.append(args.io_config)
    return files


def _model_files(args: Namespace) -> list[str]:
    """The files that the model lies in; OSError where one cannot be read."""
    path: str = args.model[0]
    if args.framework.upper() == "ONNX":
        from neuronir.frontends.onnx.reader import external_files, read_onnx

        return [path, *external_files(read_onnx(path))]
    if args.framework.upper() == "TENSORFLOW":
        from neuronir.frontends.tensorflow.files import files_of

        return files_of(path)
    return [path]


def _compile(args: Namespace, messages: Messages) -> int:
    """Compile, write the result and say what was asked for; the exit status."""
    if not args.weights:
        return _compile_with(dict, args, messages)
    import neuronir.dialects.support.npz  # noqa: F401  (numpy's modules are cyclic: by one thread)

    with ThreadPoolExecutor(1) as pool:  # the weights are read while the compiler is imported
        return _compile_with(pool.submit(load_weights, args.weights).result, args, messages)


def _compile_with(
    weights: Callable[[], "dict[str, Array]"], args: Namespace, messages: Messages
) -> int:
    """Compile with the weights that a function gives."""
    from neuronir.cli.neuron_opt_reports import statistics_report, timing_report
    from neuronir.cli.neuron_opt_run import RunFailure
    from neuronir.driver import CompileOptions, compile_file
    from neuronir.passes import statistics

    options = CompileOptions(
        auto_cast=args.auto_cast,
        auto_cast_type=args.auto_cast_type,
        optlevel=args.optlevel,
        weights=weights(),
        compile_from=args.compile_from,
        compile_to=args.compile_to,
        dump_phases_to=args.dump_phases_to,
        bindings=bindings_of(args),
        framework=args.framework,
        narrow_integers=True if args.native_int64 == "disabled" else None,
        progress=messages.phase,
    )
    statistics.reset(gains=args.pass_statistics)
    try:
        with messages.listening():
            result = compile_file(args.model[0], args.target, options)
        result.write(args.output)
    except RunFailure as failure:
        if args.debug:
            traceback.print_exc()
        messages.fail(failure.diagnostic, _sources(args.model[0]), args.model[0])
        _log_failure(args, messages)
        return INTERNAL if failure.internal else USER_ERROR
    messages.say("info", STATUS)
    if args.timing:
        messages.show(100, timing_report(result.timer, "tree"))
    if args.pass_statistics:
        messages.show(100, statistics_report(statistics.snapshot()))
    return OK


def _sources(path: str) -> dict[str, str]:
    """The text of the model, to point into; none where it cannot be read again (stdin)."""
    try:
        return {path: Path(path).read_text()}
    except (OSError, UnicodeDecodeError):
        return {}


def _log_failure(args: Namespace, messages: Messages) -> None:
    """The log file tells of the failure too; when it cannot be written, the error itself counts."""
    with suppress(NeuronError):
        messages.write_log(args.logfile)


def _check_output(output: str) -> None:
    """Say at once, not after minutes, that there is no folder to write to."""
    parent = Path(output).parent
    if not parent.is_dir():
        raise NeuronError(
            "NIR_OUTPUT",
            f"cannot write '{output}': there is no folder '{parent}'",
            help="make the folder first",
        )


def load_weights(path: str) -> dict[str, "Array"]:
    """The arrays of an npz file by name."""
    from neuronir.dialects.support.npz import load_npz, unpack

    entries = load_npz(path)
    found = {name: unpack(entries, name) for name in entries if not name.endswith("__dtype")}
    for array in found.values():
        array.flags.writeable = False  # so that constants can refer to it
    return found
