"""The messages of neuron-cc and neuronx-cc.

Progress (info, debug) goes to stdout, warnings and errors go to stderr, and everything to a log
file if one is requested.
"""

import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from neuronir.cli.cc_args import LEVELS
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.diagnostics import LEVEL_OF, Message, handling
from neuronir.dialects.support.output import atomic_write
from neuronir.dialects.support.printable import printable

if TYPE_CHECKING:
    from neuronir.driver import CompiledResult


@dataclass
class Messages:
    """Messages of one run: shown from `level` on, all of them kept for the log.

    `heard` are the messages of passes, each with its level; `phases` are the phases that have
    begun. `program` is the command, whose checks are part of a result. `cached` is set if the cache
    answers.
    """

    level: int = LEVELS["warning"]
    lines: list[str] = field(default_factory=list)
    heard: list[tuple[int, str]] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    cached: bool = False
    program: str = "neuronx-cc"

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Show that a phase is running, on a terminal."""
        self.phases.append(name)
        self.say("info", f"Running {name}")
        start = time.perf_counter()
        if sys.stderr.isatty() and self.level < LEVELS["error"]:
            from rich.console import Console  # 0.1 s, which only a terminal is worth

            with Console(stderr=True).status(f"{name} ..."):
                yield
        else:
            yield
        self.say("info", f"{name} finished after {time.perf_counter() - start:.3f} seconds")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Receive the messages that passes emit inside this block."""

        def receive(message: Message) -> None:
            self.heard.append((LEVEL_OF[message.severity], message.render()))
            self.show(*self.heard[-1])

        with handling(receive):
            yield

    def say(self, level: str, text: str) -> None:
        """Emit a message of the program itself. `level` is a --verbose name."""
        self.show(LEVELS[level], text if level in ("info", "debug") else f"{level}: {text}")

    def show(self, level: int, text: str) -> None:
        """Store a line for the log, and print it if its level is high enough."""
        self.lines.append(text)
        if level >= self.level:
            print(text, file=sys.stdout if level < LEVELS["warning"] else sys.stderr, flush=True)

    def fail(self, diagnostic: Diagnostic, source: dict[str, str], name: str | None) -> None:
        """Emit an error, which is always shown."""
        self.show(LEVELS["critical"] + self.level, diagnostic.render(source, name))

    def fault(self, error: Exception) -> None:
        """Report an internal error of the compiler, after its message."""

    def compiled(self, result: "CompiledResult") -> None:
        """Emit the messages about a result, before it is written."""

    def write_log(self, path: str | None) -> None:
        """Write the log file, if one is requested."""
        if path is not None:
            text = "".join(f"{line}\n" for line in self.lines)
            atomic_write(path, text.encode(errors="backslashreplace"))  # as stderr does


def sources_of(path: str, name: str) -> dict[str, str]:
    """Return the text of the model by file name, for excerpts; empty if it cannot be read again
    (stdin).
    """
    try:
        return {name: Path(path).read_text()}
    except (OSError, UnicodeDecodeError):
        return {}


def fault_block(error: BaseException, words: Sequence[str], versions: str) -> str:
    """Return the block that neuron-cc prints for an internal error: class, location and stack are
    those of the first cause.
    """
    message = ""
    while error.__cause__ is not None:
        message, error = message or str(error), error.__cause__
    stack = traceback.extract_tb(error.__traceback__)
    where = f"{stack[-1].name}, line {stack[-1].lineno}" if stack else "not known"
    details = "".join(traceback.format_list(stack)).rstrip() or "none"
    parts = {
        "Error message": message or str(error) or type(error).__name__,
        "Error class": type(error).__name__,
        "Error location": where,
        "Command line": " ".join(words),
        "Internal details": details,
        "Version information": versions.rstrip(),
    }
    stars = "*" * 63
    head = f"{stars}\n An Internal Compiler Error has occurred\n{stars}"
    body = [f"{title}:  {text}" for title, text in parts.items()]
    return printable("\n\n".join([head, *body]), keep="\n\t")
