"""Answer a compile from the cache, or store its result there: a binary or an error."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuronir.cache import FOLDER_VARIABLE, Key, Store
from neuronir.cache_code import unknown_code
from neuronir.cache_entry import MODEL, About, Damaged, Failed, Hit, skipped
from neuronir.cache_graphs import collect, extracted
from neuronir.cache_place import find_cache
from neuronir.cli.cc_messages import Messages, sources_of
from neuronir.cli.program import OK, USER_ERROR
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.diagnostics.stored import from_json, to_json
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.inputs import Changed, Readings
from neuronir.dialects.support.output import atomic_write, input_error, output_error
from neuronir.dialects.support.printable import printable
from neuronir.driver.phases import PHASES
from neuronir.targets.registry import is_ours

if TYPE_CHECKING:
    from neuronir.driver import CompiledResult
    from neuronir.driver.pipelined import PipelinedResult

_OF_RESULT = (
    "target",
    "framework",
    "precision",
    "optlevel",
    "native_int64",
    "tiling",
    "neuroncore_pipeline_cores",
)
"""The options that affect the result and are part of the key, in addition to the bindings of
--input-shape, --io-config and --signature.
"""

_LABEL = ("target", "framework", "optlevel", "program")
"""The options that neuron-cache shows."""

_PIECE = 1 << 20


@dataclass
class Keeper:
    """Stores one compile in the cache; knows its entry and the files that it reads.

    `requested` says that the user names the cache, and so hears if it cannot be written.
    """

    cache: Store
    key: Key
    model: str
    label: dict[str, str]
    messages: Messages
    files: Sequence[str] = ()
    retry: bool = False
    requested: bool = False
    readings: Readings = field(default_factory=Readings)

    def answer(self, output: str) -> int | None:
        """Write the cached binary, or show the cached error; return the exit status.

        Returns None if there is no entry, or none that can be trusted.
        """
        found = self.cache.get(self.key.entry)
        if isinstance(found, Failed):
            return None if self.retry else self._fail_again(found)
        if isinstance(found, Damaged):
            self._refuse(found.why)
        if not isinstance(found, Hit):
            return None
        self.messages.cached = True
        for level, text in found.messages:
            self.messages.show(level, printable(text))
        atomic_write(output, found.data)
        self.messages.say("info", f"Using a cached neff: {self.key.entry.name}")
        return OK

    def _refuse(self, why: str) -> None:
        name = self.key.entry.name
        self.messages.say("warning", f"the cache's entry {name} is not used: {printable(why)}")

    def _fail_again(self, found: Failed) -> int | None:
        """Show the error of an earlier compile."""
        name = printable(self.model)
        try:
            diagnostic = from_json(found.failure, name)
        except ValueError as error:
            self._refuse(str(error))
            return None
        self.messages.cached = True
        for level, text in found.messages:
            self.messages.show(level, printable(text))
        self.messages.fail(diagnostic, sources_of(self.model, name), name)
        self.messages.say("warning", skipped(self.key.entry))
        return USER_ERROR

    def collect(self, given: Mapping[str, Any]) -> None:
        """Store the model for a later compile with the options `given`."""
        program = self.messages.program
        try:
            folder = collect(self.cache, self.key, program, given, self.files)
        except OSError as error:
            raise output_error(self.key.entry, error) from error
        self.messages.say("warning", extracted(folder))

    def failed(self, diagnostic: Diagnostic) -> None:
        """Store the error of a failed compile, which must be caused by the model alone."""
        try:
            with self.cache.part(self.key.entry) as part:
                self.key.check(self.readings)
                failure = to_json(diagnostic, printable(self.model))
                about = About(self.messages.heard, failure=failure, label=self.label)
                self.cache.put(part, self.key.entry, about)
        except (OSError, Changed) as error:
            self.messages.say("info", f"the failure was not kept in the cache: {error}")

    def write(self, result: "CompiledResult | PipelinedResult", output: str) -> None:
        """Write a result and store it; if it cannot be stored, a message says so.

        It is written to the cache and copied from there, because another process may replace the
        file `output` at any time.
        """
        written = False
        try:
            with self.cache.part(self.key.entry) as part:
                result.write(part / MODEL)
                with (part / MODEL).open("rb") as made:
                    atomic_write(output, iter(lambda: made.read(_PIECE), b""))
                written = True
                self.key.check(self.readings)
                about = About(self.messages.heard, label=self.label)
                self.cache.put(part, self.key.entry, about)
        except (OSError, NeuronError, Changed) as error:
            if not written:
                result.write(output)  # an error that is not the cache's comes again
            why = error.message if isinstance(error, NeuronError) else str(error)
            changed = isinstance(error, Changed)
            level = "warning" if self.requested and not changed else "info"
            self.messages.say(level, f"the result was not kept in the cache: {why}")


def keeper_of(args: Namespace, messages: Messages) -> Keeper | None:
    """Return the keeper of a compile, or None if the cache cannot hold its result.

    The cache cannot hold it for the reasons of `_not_kept`, or if a file cannot be read twice.
    """
    cache = None if _not_kept(args) else find_cache(args.cache_dir)
    if cache is None:
        return None
    with suppress(OSError):
        return _keeper(args, messages, cache)
    return None


def collector_of(args: Namespace, messages: Messages) -> Keeper:
    """Return the keeper of a compile whose model is collected.

    Raises NIR_MANY005 if the later compile would not use the cache, NIR_INPUT if a file cannot be
    read twice.
    """
    why = _not_kept(args)
    if why is not None:
        raise NeuronError(
            "NIR_MANY005",
            f"'{printable(args.model[0])}' cannot be collected: a compile with {why} does not use "
            "the cache",
            help="compile it without collecting, or leave the option out",
        )
    cache = find_cache(args.cache_dir)
    if cache is None:
        raise NeuronError(
            "NIR_MANY005",
            "models cannot be collected without a cache",
            help=f"name a folder with --cache-dir or {FOLDER_VARIABLE}",
        )
    try:
        return _keeper(args, messages, cache)
    except OSError as error:
        raise input_error(error.filename or args.model[0], error) from error


def _not_kept(args: Namespace) -> str | None:
    """Return why the cache cannot hold the result of a compile, or None if it can.

    The user requests more than the result, or the source of the target is not part of the key.
    """
    whole = (args.compile_from, args.compile_to) == (PHASES[0], PHASES[-1])
    reasons = {
        "--no-cache": args.no_cache,
        "--dump-phases-to": args.dump_phases_to,
        "--timing": args.timing,
        "--pass-statistics": args.pass_statistics,
        "--debug": args.debug,
        "--compile-from or --compile-to": not whole,
        "a model on stdin": args.model[0] == "-",
        "a target of another package": not is_ours(args.target),
    }
    why = next((why for why, holds in reasons.items() if holds), None)
    return why or unknown_code(args.user_passes)


def _keeper(args: Namespace, messages: Messages, cache: Store) -> Keeper:
    """Return the keeper of a compile in a cache; raises OSError if a file cannot be read twice."""
    options = {name: str(getattr(args, name)) for name in _OF_RESULT}
    options["bindings"] = repr(args.bindings)
    options["program"] = messages.program
    users = args.user_passes
    options["load"] = "" if users is None else " ".join(f.digest for f in users.registry.files)
    options["pass_after"] = "" if users is None else users.text()
    label = {"model": Path(args.model[0]).name}
    label |= {name: options[name] for name in _LABEL}
    label["auto-cast"] = f"{args.precision.auto_cast} to {args.precision.auto_cast_type}"
    key = cache.key(_files(args), options)
    return Keeper(
        cache,
        key,
        args.model[0],
        label,
        messages,
        list(_model_files(args.model[0], args.framework.upper()).values()),
        retry=args.retry_failed_compilation,
        requested=args.cache_dir is not None,
    )


def _files(args: Namespace) -> dict[str, str]:
    """Return the files that determine the result, by purpose; raises OSError if one cannot be
    read.
    """
    files = _model_files(args.model[0], args.framework.upper())
    if args.weights:
        files["--weights"] = args.weights
    return files


def _model_files(path: str, framework: str) -> dict[str, str]:
    """Return the files of the model."""
    if framework == "TENSORFLOW":
        from neuronir.frontends.tensorflow.files import files_of

        graph, *variables = files_of(path)
        return {"model": graph, **{f"variables {Path(name).name}": name for name in variables}}
    files = {"model": path}
    if framework == "ONNX" and Path(path).is_file():  # a pipe can be read only once
        from neuronir.frontends.onnx.reader import read_onnx

        external = read_onnx(path).external()
        files |= {f"external {location}": str(found) for location, found in external.items()}
    return files
