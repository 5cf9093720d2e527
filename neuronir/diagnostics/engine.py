"""Collect the messages of a run and print them, or keep them for checking."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.diagnostics import Message, handling


@dataclass
class DiagnosticEngine:
    """Receives every message of one program run.

    `sources` maps file names to their text (for carets); with `quiet` messages are only kept.
    """

    input_name: str
    sources: dict[str, str] = field(default_factory=dict)
    quiet: bool = False
    emitted: list[Diagnostic] = field(default_factory=list)

    def emit(self, diagnostic: Diagnostic) -> None:
        """Store the message, and print it to stderr unless the engine is quiet."""
        self.emitted.append(diagnostic)
        if not self.quiet:
            self.show(diagnostic)

    def show(self, diagnostic: Diagnostic) -> None:
        """Print a message to stderr, whatever `quiet` says."""
        print(diagnostic.render(self.sources, self.input_name), file=sys.stderr)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Receive the messages that passes emit inside this block."""

        def receive(message: Message) -> None:
            self.emit(Diagnostic.from_message(message))

        with handling(receive):
            yield
