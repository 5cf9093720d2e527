"""Emit messages other than errors; the surrounding program decides where they go.

Errors are raised (`NeuronError`). Warnings, remarks and notes are emitted here, and work continues.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from neuronir.dialects.support.errors import SourceLocation
from neuronir.dialects.support.printable import printable

Severity = Literal["error", "warning", "remark", "note"]


@dataclass(frozen=True)
class Message:
    """A message with its severity and its location in the user's file."""

    severity: Severity
    text: str
    location: SourceLocation | str | None = None
    fault: bool = False
    """Whether it reports a compiler bug, which `trying` passes on."""

    def render(self) -> str:
        """Format the message on one line, as `location: severity: text`."""
        where = f"{self.location}: " if self.location else ""
        return printable(f"{where}{self.severity}: {self.text}", keep="\n\t")


Handler = Callable[[Message], None]

LEVEL_OF: dict[Severity, int] = {"note": 30, "remark": 20, "warning": 30, "error": 40}
"""How grave a message is, on the scale of the option --verbose."""


def _to_stderr(message: Message) -> None:
    print(message.render(), file=sys.stderr)


def printing(level: int) -> Handler:
    """Return a handler that prints messages of this level or above to stderr."""

    def handler(message: Message) -> None:
        if LEVEL_OF[message.severity] >= level:
            _to_stderr(message)

    return handler


_by_default = printing(LEVEL_OF["warning"])
_handler: ContextVar[Handler] = ContextVar("neuronir_message_handler", default=_by_default)


def recording(heard: list[tuple[int, str]], handler: Handler | None = None) -> Handler:
    """Return a handler that appends (level, text) of each message to `heard`, and passes the
    message on to `handler`, by default to the current one.
    """

    def look(message: Message) -> None:
        heard.append((LEVEL_OF[message.severity], message.render()))

    return passed_on(look, handler)


def passed_on(look: Handler, handler: Handler | None = None) -> Handler:
    """Return a handler that calls `look` with each message and passes the message on to `handler`,
    by default to the current one.
    """
    onwards = _handler.get() if handler is None else handler

    def receive(message: Message) -> None:
        look(message)
        onwards(message)

    return receive


def emit(severity: Severity, text: str, *, location: SourceLocation | str | None = None) -> None:
    """Emit `text` to the current handler; if there is none, warnings and notes go to stderr."""
    _handler.get()(Message(severity, text, location))


def warning(text: str, *, location: SourceLocation | str | None = None) -> None:
    """Emit a warning: the result is valid, but the user should know."""
    emit("warning", text, location=location)


def remark(text: str, *, location: SourceLocation | str | None = None) -> None:
    """Emit a remark about a decision of a pass."""
    emit("remark", text, location=location)


@contextmanager
def handling(handler: Handler) -> Iterator[None]:
    """Send messages to `handler` while the context is active."""
    token = _handler.set(handler)
    try:
        yield
    finally:
        _handler.reset(token)


def fault(text: str, *, location: SourceLocation | str | None = None) -> None:
    """Emit a warning about a compiler bug that does not affect the result."""
    _handler.get()(Message("warning", text, location, fault=True))


@contextmanager
def holding(held: list[Message]) -> Iterator[None]:
    """Append messages to `held` while the context is active, because its result may be discarded.

    `release` emits them if the result is kept. Reports of compiler bugs are emitted at once.
    """
    outer = _handler.get()

    def receive(message: Message) -> None:
        if message.fault:
            outer(message)
        else:
            held.append(message)

    with handling(receive):
        yield


def release(held: Iterable[Message]) -> None:
    """Emit messages that were held back."""
    for message in held:
        _handler.get()(message)


@contextmanager
def trying() -> Iterator[None]:
    """Drop messages while the context is active, because its result may be discarded.

    Reports of compiler bugs are kept.
    """
    outer = _handler.get()

    def receive(message: Message) -> None:
        if message.fault:
            outer(message)

    with handling(receive):
        yield
