"""Damaging files on purpose: protobufs field by field, so that what is read stays a protobuf."""

import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from neuronir.dialects.support.errors import NeuronError

_SMALL = (0, 1, -1, -2, 2, 3, 5, 6, 7, 9, 11, 16, 127, 255)
INTEGERS = (*_SMALL, 1 << 20, (1 << 31) - 1, 1 << 31, -(1 << 31), 1 << 62, -(1 << 63))
FLOATS = (0.0, -1.0, 1e30, float("nan"), float("inf"), 0.5, 3.0)
LONGEST = 60
"""Seconds that no damaged file may take."""


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """TimeoutError in what takes longer."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def survives(build: Callable[[], object]) -> None:
    """A file is read, or refused by a code, in time."""
    try:
        with no_longer_than(LONGEST):
            build()
    except NeuronError as error:
        assert error.code.startswith(("NIR_", "NCC_"))


def altered(message: Any, rng: random.Random) -> None:
    """Change up to three fields of a protobuf: numbers, names, elements that go, come twice or
    change places."""
    for _ in range(rng.randint(1, 3)):
        fields = list(_fields(message))
        names = [""]
        for owner, field, repeated in fields:
            if field.type == field.TYPE_STRING:
                value = getattr(owner, field.name)
                names += list(value) if repeated else [value]
        owner, field, repeated = rng.choice(fields)
        try:
            _alter(owner, field, repeated, names, rng)
        except (ValueError, TypeError):
            pass  # a number that the field's type does not hold


def _fields(message: Any) -> Iterator[tuple[Any, Any, bool]]:
    """(message, field, whether it repeats) of all set fields, of messages inside too."""
    for field, value in message.ListFields():
        repeated = hasattr(value, "__len__") and not isinstance(value, (str, bytes))
        yield message, field, repeated
        if field.type != field.TYPE_MESSAGE:
            continue
        inner = list(value.values()) if hasattr(value, "values") else value if repeated else [value]
        for one in inner:
            if hasattr(one, "ListFields"):
                yield from _fields(one)


def _alter(owner: Any, field: Any, repeated: bool, names: list[str], rng: random.Random) -> None:
    value = getattr(owner, field.name)
    if repeated and hasattr(value, "values"):
        del value[rng.choice(sorted(value))]
    elif repeated:
        _alter_list(value, field, names, rng)
    elif field.type == field.TYPE_MESSAGE or rng.random() < 0.15:
        owner.ClearField(field.name)
    else:
        setattr(owner, field.name, _other(field, value, names, rng))


def _alter_list(values: Any, field: Any, names: list[str], rng: random.Random) -> None:
    kind, place = rng.randrange(4), rng.randrange(len(values))
    message = field.type == field.TYPE_MESSAGE
    if kind == 0:
        del values[place]
    elif kind == 1 and message:
        values.add().CopyFrom(values[place])
    elif kind == 1:
        values.append(values[place])
    elif message:
        other = rng.randrange(len(values))
        kept = type(values[place])()
        kept.CopyFrom(values[place])
        values[place].CopyFrom(values[other])
        values[other].CopyFrom(kept)
    else:
        values[place] = _other(field, values[place], names, rng)


def _other(field: Any, value: Any, names: list[str], rng: random.Random) -> Any:
    if field.type == field.TYPE_STRING:
        return rng.choice(names)
    if field.type == field.TYPE_BYTES:
        cut = rng.randrange(len(value) + 1)
        return rng.choice((value[:cut], value + value[:cut], rng.choice(names).encode()))
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return rng.choice(FLOATS)
    return rng.choice(INTEGERS) if rng.random() < 0.7 else value + rng.choice((-1, 1, 2))
