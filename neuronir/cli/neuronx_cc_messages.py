"""What neuronx-cc says while it works: progress and messages on stderr, a log where asked for."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from neuronir.cli.neuronx_cc_args import LEVELS
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.diagnostics import Message, handling
from neuronir.dialects.support.output import atomic_write

_LEVEL_OF = {"note": 30, "remark": 20, "warning": 30, "error": 40}


@dataclass
class Messages:
    """Messages of one run: shown from `level` on, all of them kept for the log.

    `heard` are those of the passes, each with its level.
    """

    level: int = LEVELS["warning"]
    lines: list[str] = field(default_factory=list)
    heard: list[tuple[int, str]] = field(default_factory=list)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Show that a phase is running, on a terminal."""
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
        """Receive what passes emit inside this block."""

        def receive(message: Message) -> None:
            self.heard.append((_LEVEL_OF[message.severity], message.render()))
            self.show(*self.heard[-1])

        with handling(receive):
            yield

    def say(self, level: str, text: str) -> None:
        """A line of our own: `level` is a --verbose name."""
        self.show(LEVELS[level], text if level in ("info", "debug") else f"{level}: {text}")

    def show(self, level: int, text: str) -> None:
        """Keep a line for the log, and print it to stderr unless it is not grave enough."""
        self.lines.append(text)
        if level >= self.level:
            print(text, file=sys.stderr)

    def fail(self, diagnostic: Diagnostic, source: dict[str, str], name: str | None) -> None:
        """An error, which is always shown."""
        self.show(LEVELS["critical"] + self.level, diagnostic.render(source, name))

    def write_log(self, path: str | None) -> None:
        """The log file, if there is to be one."""
        if path is not None:
            text = "".join(f"{line}\n" for line in self.lines)
            atomic_write(path, text.encode(errors="backslashreplace"))  # as stderr does
