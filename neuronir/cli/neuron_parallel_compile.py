"""neuron_parallel_compile: collect the models that a command compiles, then compile them in
parallel.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuronir.cache import FOLDER_VARIABLE, Cache
from neuronir.cache_graphs import COLLECT, GRAPH, Graph, RefusedGraph, graphs, remove
from neuronir.cache_place import find_cache
from neuronir.cli.cc_args import FLAGS, flag_words
from neuronir.cli.cc_many import run_requests
from neuronir.cli.cc_pool import Progress, pool_of
from neuronir.cli.cc_request import Request
from neuronir.cli.neuron_parallel_check import Checked, check_one
from neuronir.cli.pool_args import add_pool
from neuronir.cli.program import OK, USER_ERROR, Parser, UsageError, guarded
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import (
    atomic_write,
    check_outputs,
    output_error,
    write_stdout,
)
from neuronir.dialects.support.printable import printable
from neuronir.many.jobs import Job, Outcome
from neuronir.version import __version__

PROGRAM = "neuron_parallel_compile"
RETRIES_VARIABLE = "NEURON_PARALLEL_COMPILE_MAX_RETRIES"
IGNORE_VARIABLE = "NEURON_IGNORE_TRAINING_SCRIPT_ERROR_AND_COMPILE"


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuron_parallel_compile; the exit status is not 0 if a model is not compiled."""
    return guarded(PROGRAM, _main, argv, parser=build_parser)


def build_parser() -> Parser:
    """Create the parser of the command line."""
    parser = Parser(
        prog=PROGRAM,
        description="Collect the models that a command compiles, and compile them in parallel.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.add_argument(
        "--command",
        choices=("collect", "compile", "clean", "clear-locks", "analyze"),
        help="do this only (default: collect, then compile)",
    )
    parser.add_argument(
        "--cache-dir", "--cache_dir", metavar="DIR", help="folder of the persistent cache"
    )
    parser.add_argument(
        "--analyze-output",
        default="model_analysis_result",
        metavar="DIR",
        help="folder for result.json of analyze (default: model_analysis_result)",
    )
    parser.add_argument(
        "--analyze-verbosity",
        type=int,
        choices=(1, 2),
        default=2,
        help="1: operators; 2: also their nodes (default: 2)",
    )
    parser.add_argument(
        "--summary", metavar="FILE.json", help="write status and time of each model"
    )
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    add_pool(parser.add_argument_group("workers"), f"{RETRIES_VARIABLE}, else 0")
    parser.add_argument(
        "run",
        nargs=argparse.REMAINDER,
        type=str,
        metavar="COMMAND ...",
        help="command that compiles models with the compilers or the Python interfaces",
    )
    return parser


def _main(words: list[str]) -> int:
    args = build_parser().parse_args(words)
    if args.run[:1] == ["--"]:
        del args.run[0]
    if args.command in (None, "collect", "analyze") and not args.run:
        raise UsageError("a command to run is missing")
    check_outputs(args.summary)
    os.environ.pop(COLLECT, None)
    if args.command == "analyze":
        return _analyze(args)
    cache = _cache(args)
    if args.command == "clean":
        return _clean(cache)
    if args.command == "clear-locks":
        left = cache.sweep()
        write_stdout(f"{left} unfinished entries removed; locks end with the processes\n")
        return OK
    if args.command != "compile":
        _collect(args.run, cache)
    if args.command == "collect":
        return OK
    return _compile(args, cache)


def _cache(args: Namespace) -> Cache:
    """Return the cache of --cache-dir, of NEURON_CC_FLAGS or of the environment; it must be a
    folder.
    """
    place = args.cache_dir
    if place is None:
        place = _flag_cache()
    store = find_cache(place)
    if not isinstance(store, Cache):
        raise NeuronError(
            "NIR_MANY005",
            "models cannot be collected without a cache in a folder",
            help=f"name one with --cache-dir or {FOLDER_VARIABLE}",
        )
    return Cache(store.folder.absolute(), store.limit)


def _flag_cache() -> str | None:
    """Return the cache that NEURON_CC_FLAGS names, or None."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--cache_dir", "--cache-dir")
    place: str | None = parser.parse_known_args(flag_words())[0].cache_dir
    return place


def _collect(command: Sequence[str], cache: Cache) -> None:
    """Run a command whose compiles store their models in the cache.

    Raises NIR_MANY006 if no compile has used the cache.
    """
    folder = os.fspath(cache.folder)
    environment = os.environ | {COLLECT: "1", FOLDER_VARIABLE: folder}
    if _flag_cache() is not None:  # the last one counts
        environment[FLAGS] = f"{os.environ[FLAGS]} --cache_dir={shlex.quote(folder)}"
    before = _times(cache)
    try:
        status = subprocess.call(command, env=environment)
    except OSError as error:
        raise NeuronError(
            "NIR_MANY004", f"cannot run '{command[0]}': {error.strerror}", help="check its name"
        ) from error
    after = _times(cache)
    found = [path for path in after if path not in before and path.name.startswith(GRAPH)]
    write_stdout(f"Collected graphs: {len(found)}\n")
    if status != 0:
        text = f"'{shlex.join(command)}' ended with status {status}"
        if os.environ.get(IGNORE_VARIABLE, "0") in ("", "0"):
            raise NeuronError("NIR_MANY004", text, help=f"to continue, set {IGNORE_VARIABLE}=1")
        print(f"warning: {text}", file=sys.stderr)
    if after == before:
        raise NeuronError(
            "NIR_MANY006",
            f"'{shlex.join(command)}' has compiled no model with the cache '{folder}'",
            help="the compilers and the Python interfaces collect models, if their own options do "
            "not name another cache",
        )


def _times(cache: Cache) -> dict[Path, float]:
    """Return when each entry was last used (s) and each graph was written (ns); a compile changes
    one of these.
    """
    found: dict[Path, float] = {entry.path: entry.used for entry in cache.entries()}
    for graph in graphs(cache):
        with suppress(OSError):  # another process may remove it at the same time
            found[graph.folder] = graph.folder.stat().st_mtime_ns
    return found


def _sorted_out(cache: Cache) -> tuple[list[Graph], int]:
    """Return the graphs to compile and the number of refused ones, for each of which an error is
    printed.
    """
    found = graphs(cache)
    refused = [graph for graph in found if isinstance(graph, RefusedGraph)]
    for graph in refused:
        error = NeuronError(
            "NIR_MANY007",
            f"the graph '{printable(str(graph.folder))}' is not used: {graph.why}",
            help="remove it with --command clean, and collect it again",
        )
        print(error.render(), file=sys.stderr)
    return [graph for graph in found if isinstance(graph, Graph)], len(refused)


def _requests(waiting: Sequence[Graph], cache: Cache) -> list[Request]:
    """Return the compiles of graphs, whose results go into the cache only."""
    own = {"output": os.devnull, "cache_dir": os.fspath(cache.folder), "no_cache": False}
    # A graph that failed before is compiled again only if that is asked for now.
    own["retry_failed_compilation"] = any(
        flag.replace("_", "-") == "--retry-failed-compilation" for flag in flag_words()
    )
    own |= dict.fromkeys(("logfile", "workdir"))  # of the command that was run
    return [Request(graph.program, dict(graph.given) | own) for graph in waiting]


def _compile(args: Namespace, cache: Cache) -> int:
    """Compile the collected models, and remove from the collection those that are compiled."""
    waiting, refused = _sorted_out(cache)
    if not waiting:
        failed = f"Total failed compilations: {refused}\n" if refused else ""
        write_stdout(f"Total graphs: {refused}\n{failed}")
        return USER_ERROR if refused else OK
    names = [graph.name for graph in waiting]
    run = run_requests(args, names, _requests(waiting, cache), _retries(args))
    good = 0
    for graph, outcome in zip(waiting, run.outcomes, strict=True):
        if outcome.lost is None and outcome.value.status == OK:
            good += 1
            remove(graph)
    if args.summary is not None:
        atomic_write(args.summary, json.dumps(run.summary(), indent=4) + "\n")
    total = len(waiting) + refused
    write_stdout(
        f"Total graphs: {total}\nTotal successful compilations: {good}\n"
        f"Total failed compilations: {total - good}\n"
    )
    return run.status or (USER_ERROR if refused else OK)


def _retries(args: Namespace) -> int:
    """Return the number of retries that --retries or the environment requests."""
    if args.retries is not None:
        return int(args.retries)
    text = os.environ.get(RETRIES_VARIABLE, "0")
    if not text.isdecimal():
        raise UsageError(f"{RETRIES_VARIABLE}: '{text}' is not a number")
    return int(text)


def _clean(cache: Cache) -> int:
    """Remove all entries and graphs of a cache."""
    entries, waiting = cache.entries(), graphs(cache)
    for entry in entries:
        cache.remove(entry.path)
    for graph in waiting:
        remove(graph)
    cache.sweep()
    write_stdout(f"{len(entries)} entries and {len(waiting)} collected graphs removed\n")
    return OK


@dataclass(frozen=True)
class _Describe:
    """Describe a check in a few words."""

    def __call__(self, outcome: Outcome) -> str:
        checked: Checked = outcome.value
        if checked.error is not None:
            return checked.error.splitlines()[0]
        bad = sum(not operator["supported"] for operator in checked.operators)
        return f"{len(checked.operators)} operators, {bad} not supported"


def _analyze(args: Namespace) -> int:
    """Check the operators of the models that a command compiles; return 1 if one is not
    supported.
    """
    with tempfile.TemporaryDirectory(prefix="neuronir-") as folder:
        cache = Cache(Path(folder))
        _collect(args.run, cache)
        waiting, refused = _sorted_out(cache)
        jobs = [Job(graph.name, Request(graph.program, dict(graph.given))) for graph in waiting]
        outcomes: list[Outcome] = []
        if jobs:
            shown = Progress(len(jobs), _Describe()).shown()
            with pool_of(args, len(jobs)) as pool, shown as progress:
                outcomes = pool.run(jobs, check_one, retries=_retries(args), listener=progress)
    models = {o.job.name: _described(o, args.analyze_verbosity) for o in outcomes}
    output = Path(args.analyze_output)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise output_error(output, error) from error
    result = {"neuronx_cc_version": __version__, "models": models}
    atomic_write(output / "result.json", json.dumps(result, indent=4) + "\n")
    good = sum(bool(model["supported"]) for model in models.values())
    write_stdout(f"{good} of {len(models)} models supported: {output / 'result.json'}\n")
    return OK if good == len(models) and not refused else USER_ERROR


def _described(outcome: Outcome, verbosity: int) -> dict[str, Any]:
    """Return a model as a row of result.json."""
    if outcome.lost is not None:
        return {"supported": False, "error": outcome.lost, "operators": []}
    checked: Checked = outcome.value
    operators = [dict(operator) for operator in checked.operators]
    for operator in operators if verbosity < 2 else ():
        del operator["nodes"]
    good = checked.error is None and all(operator["supported"] for operator in operators)
    return {"supported": good, "error": checked.error, "operators": operators}


if __name__ == "__main__":
    sys.exit(main())
