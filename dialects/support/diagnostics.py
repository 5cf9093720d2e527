"""Messages that are not errors: a pass says them, the program around it decides where they go.

Errors are raised (`NeuronError`); warnings, remarks and notes are emitted here: work goes on.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from neuronir.dialects.support.errors import SourceLocation
from neuronir.dialects.support.printable import printable

Severity = Literal["error", "warning", "remark", "note"]


@dataclass(frozen=True)
class Message:
    """What to say, how grave it is, and the place in the user's file that it is about."""

    severity: Severity
    text: str
    location: SourceLocation | str | None = None
    fault: bool = False
    """Whether it is about a fault of the compiler, which `trying` passes on."""

    def render(self) -> str:
        """The message on one line, as `place: severity: text`."""
        where = f"{self.location}: " if self.location else ""
        return printable(f"{where}{self.severity}: {self.text}", keep="\n\t")


Handler = Callable[[Message], None]


def _to_stderr(message: Message) -> None:
    print(message.render(), file=sys.stderr)


_handler: ContextVar[Handler] = ContextVar("neuronir_message_handler", default=_to_stderr)


def emit(severity: Severity, text: str, *, location: SourceLocation | str | None = None) -> None:
    """Say `text` to whoever is listening; stderr when nobody is."""
    _handler.get()(Message(severity, text, location))


def warning(text: str, *, location: SourceLocation | str | None = None) -> None:
    """Emit a warning: the result stands, but the user should know."""
    emit("warning", text, location=location)


def remark(text: str, *, location: SourceLocation | str | None = None) -> None:
    """Emit a remark: what a pass decided, for those who ask."""
    emit("remark", text, location=location)


@contextmanager
def handling(handler: Handler) -> Iterator[None]:
    """Send the messages of this block to `handler`."""
    token = _handler.set(handler)
    try:
        yield
    finally:
        _handler.reset(token)


def fault(text: str, *, location: SourceLocation | str | None = None) -> None:
    """Emit a warning about a fault of the compiler that the result does not depend on."""
    _handler.get()(Message("warning", text, location, fault=True))


@contextmanager
def trying() -> Iterator[None]:
    """Drop the messages of this block, whose result may not be used, except faults."""
    outer = _handler.get()

    def receive(message: Message) -> None:
        if message.fault:
            outer(message)

    with handling(receive):
        yield
