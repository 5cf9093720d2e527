"""A lit test format that runs our programs and filecheck without starting Python each time.

Every command runs in a fork of the lit worker, which has imported the programs once: the same
isolation as a process of its own, an order of magnitude faster. A line with more shell in it than
`shell_line` knows, or with a program that is not ours, goes to lit's own shell.
"""

import contextlib
import importlib
import importlib.util
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lit.formats
import lit.Test
import lit.TestRunner

from neuronir.testing.shell_line import Command, parse_line

_TIMEOUT_S = 120
_PROGRAMS = {
    "neuron-opt": "neuronir.cli.neuron_opt",
    "neuron-cc": "neuronir.cli.neuron_cc",
    "neuronx-cc": "neuronir.cli.neuronx_cc",
    "neuron-cache": "neuronir.cli.neuron_cache",
    "neuron-check": "neuronir.cli.neuron_check",
    "neuron-explore": "neuronir.cli.neuron_explore",
    "neuron-packager": "neuronir.cli.neuron_packager",
    "neuron-sim": "neuronir.cli.neuron_sim",
    "neuron_parallel_compile": "neuronir.cli.neuron_parallel_compile",
}


def warm_up() -> None:
    """Import what the tests will use, before lit forks its workers."""
    import filecheck.matcher  # noqa: F401

    for module in _PROGRAMS.values():
        if importlib.util.find_spec(module) is not None:
            importlib.import_module(module)


def _filecheck(arguments: list[str]) -> int:
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options

    return int(Matcher.from_opts(parse_argv_options(["filecheck", *arguments])).run())


def _cat(arguments: list[str]) -> int:
    for name in arguments:
        sys.stdout.write(Path(name).read_text())
    return 0


def _program(name: str) -> Callable[[list[str]], int] | None:
    builtin: dict[str, Callable[[list[str]], int]] = {"filecheck": _filecheck, "cat": _cat}
    if name in builtin:
        return builtin[name]
    if name not in _PROGRAMS:
        return None

    def run(arguments: list[str]) -> int:
        sys.argv = [name, *arguments]
        return int(importlib.import_module(_PROGRAMS[name]).main(arguments) or 0)

    return run


def _known(command: Command) -> bool:
    words = _without_prefix(command.words)[0]
    return bool(words) and _program(words[0]) is not None


def _without_prefix(words: Sequence[str]) -> tuple[list[str], Callable[[int], int]]:
    """Take `not` and `status N` off; the second value maps the exit status through them."""
    if words[:1] == ["not"]:
        return list(words[1:]), lambda status: 0 if status else 1
    if words[:1] == ["status"] and len(words) > 2:
        expected = int(words[1])
        return list(words[2:]), lambda status: 0 if status == expected else 1
    return list(words), lambda status: status


def _run_forked(run: Callable[[list[str]], int], words: list[str], files: Sequence[int]) -> int:
    """Run in a child with these files as stdin, stdout and stderr; its exit status."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            for target, source in enumerate(files):
                os.dup2(source, target)
            sys.stdin = open(0, encoding="utf-8", closefd=False)
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
            sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)
            signal.alarm(_TIMEOUT_S)
            status = run(words)
        except SystemExit as finished:
            status = finished.code if isinstance(finished.code, int) else int(bool(finished.code))
        # The child must never return into lit: whatever happened, report it and leave.
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)
    _, result = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(result)


def _run_pipeline(pipeline: list[Command], folder: str, log: list[str]) -> bool:
    """Run one pipeline; as in lit, it fails if any of its commands fails."""
    good = True
    with contextlib.ExitStack() as stack:
        source = os.open(os.devnull, os.O_RDONLY)
        stack.callback(os.close, source)
        for number, command in enumerate(pipeline):
            words, expected = _without_prefix(command.words)
            run = _program(words[0])
            assert run is not None
            if command.stdin:
                source = os.open(os.path.join(folder, command.stdin), os.O_RDONLY)
                stack.callback(os.close, source)
            out = stack.enter_context(tempfile.TemporaryFile())
            err = stack.enter_context(tempfile.TemporaryFile())
            streams = [out.fileno(), err.fileno()]
            for redirection in command.redirections:
                if redirection.name is None:
                    streams[1] = streams[0]
                    continue
                extra = os.O_APPEND if redirection.append else os.O_TRUNC
                path = os.path.join(folder, redirection.name)
                opened = os.open(path, os.O_WRONLY | os.O_CREAT | extra, 0o666)
                stack.callback(os.close, opened)
                streams[redirection.stream - 1] = opened
            status = _run_forked(run, words[1:], [source, *streams])
            good &= expected(status) == 0
            log.append(f"# executed: {' '.join(command.words)} (exit status {status})")
            for file in (out, err):
                file.seek(0)
            text = err.read().decode(errors="replace")
            if number == len(pipeline) - 1:
                text = out.read().decode(errors="replace") + text
            log.append(text)
            out.seek(0)
            source = out.fileno()
    return good


class InProcShTest(lit.formats.ShTest):  # type: ignore[misc]
    """lit's shell tests, with our programs run in forks."""

    def execute(self, test: Any, lit_config: Any) -> Any:
        """Run one test file."""
        script = self._script(test, lit_config)
        if not isinstance(script, list):
            return script
        lines = []
        for line in script:
            parsed = parse_line(line)
            if parsed is None or not all(_known(c) for pipeline in parsed for c in pipeline):
                return super().execute(test, lit_config)
            lines.append(parsed)
        folder = os.path.dirname(test.getExecPath())
        os.makedirs(os.path.join(folder, "Output"), exist_ok=True)
        log: list[str] = []
        os.chdir(folder)
        for pipelines in lines:
            for pipeline in pipelines:
                if not _run_pipeline(pipeline, folder, log):
                    return lit.Test.Result(lit.Test.FAIL, "\n".join(log))
        return lit.Test.Result(lit.Test.PASS, "\n".join(log))

    def _script(self, test: Any, lit_config: Any) -> Any:
        """Return the RUN lines after substitution, or lit's verdict when there is nothing to
        run.
        """
        if test.config.unsupported:
            return lit.Test.Result(lit.Test.UNSUPPORTED, "Test is unsupported")
        parsed = lit.TestRunner.parseIntegratedTestScript(test)
        if isinstance(parsed, lit.Test.Result):
            return parsed
        if lit_config.noExecute:
            return lit.Test.Result(lit.Test.PASS)
        folder, base = lit.TestRunner.getTempPaths(test)
        substitutions = lit.TestRunner.getDefaultSubstitutions(test, folder, base)
        conditions = dict.fromkeys(test.config.available_features, True)
        lines = lit.TestRunner.applySubstitutions(
            parsed, substitutions, conditions, recursion_limit=test.config.recursiveExpansionLimit
        )
        # lit writes the line number in front of each command, as %dbg(...).
        return [line.partition(")")[2] if line.startswith("%dbg(") else line for line in lines]
