"""Find Python state that calls of a model change: a captured graph holds its value of one call."""

import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

from neuronir.dialects.support.errors import NeuronError, SourceLocation
from neuronir.frontends.torch.frames import is_user_file

_PLAIN = (bool, int, float, complex, str, bytes)
_STANDARD = frozenset(nn.Module().__dict__) - {"training"}
_LARGEST = 10_000
"""Elements of larger containers are compared by identity, and not followed."""
Values = dict[Any, Any]


@dataclass
class Slots:
    """Values with one owner: the attributes of an object, the elements of a container."""

    name: Callable[[Any], str]
    """The text for a key that changed."""
    read: Callable[[], Values]
    write: Callable[[Values], None]
    before: Values

    def changed(self, other: Values | None = None) -> list[Any]:
        """Return the keys whose values are not those of `other` (default: at the start)."""
        before = self.before if other is None else other
        now = self.read()
        keys = [k for k in before if k not in now or not _same(before[k], now[k])]
        return keys + [k for k in now if k not in before]


class PythonState:
    """The Python state of a module: attributes of its modules and of the objects that they hold,
    and for functions the globals and variables that they read.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._slots: list[Slots] = []
        self._known: set[int] = set()
        self._alive: list[Any] = []
        self.seen: list[Slots] = []
        """What the capture has changed."""
        for path, one in module.named_modules():
            if not _of_torch(type(one)):
                self._object(one.__dict__, path + "." if path else "", _STANDARD)
                for function in (getattr(type(one), "forward", None), *one.__dict__.values()):
                    self._function(getattr(function, "__func__", function))

    # --- what there is

    def _add(self, owner: Any, slots: Slots) -> None:
        self._alive.append(owner)
        self._slots.append(slots)

    def _object(self, held: Values, prefix: str, without: frozenset[str] = frozenset()) -> None:
        def read() -> Values:
            return {k: v for k, v in held.items() if k not in without}

        def write(values: Values) -> None:
            for key in set(read()) - set(values):
                del held[key]
            held.update(values)

        before = read()
        self._add(held, Slots(lambda key: f"'{prefix}{key}'", read, write, before))
        for key, value in before.items():
            self._value(value, f"{prefix}{key}")

    def _value(self, value: Any, name: str) -> None:
        """Follow one value."""
        if isinstance(value, (*_PLAIN, torch.Tensor)) or value is None or callable(value):
            return
        if id(value) in self._known:
            return
        self._known.add(id(value))
        if isinstance(value, np.ndarray):
            if value.size <= _LARGEST:
                self._array(value, name)
        elif isinstance(value, (dict, list, set, deque)):
            self._container(value, name)
        elif isinstance(value, tuple):
            for i, inner in enumerate(value):
                self._value(inner, f"{name}[{i}]")
        elif not _of_torch(type(value)) and type(getattr(value, "__dict__", None)) is dict:
            self._object(value.__dict__, f"{name}.")

    def _array(self, value: Any, name: str) -> None:
        def write(values: Values) -> None:
            value[...] = np.frombuffer(values[0], value.dtype).reshape(value.shape)

        if not value.dtype.hasobject:
            slots = Slots(lambda _: f"'{name}'", lambda: {0: value.tobytes()}, write, {})
            slots.before = slots.read()
            self._add(value, slots)

    def _container(self, value: Any, name: str) -> None:
        keyed = isinstance(value, dict)

        def read() -> Values:
            return dict(value) if keyed else {i: v for i, v in enumerate(value)}

        def write(values: Values) -> None:
            value.clear()
            if keyed or isinstance(value, set):
                value.update(values if keyed else values.values())
            else:
                value.extend(values.values())

        before = read()
        self._add(value, Slots(lambda _: f"'{name}'", read, write, before))
        if len(before) <= _LARGEST:
            for key, inner in before.items():
                self._value(inner, f"{name}[{key!r}]")

    def _function(self, function: Any) -> None:
        """Follow the globals and variables of a function, and of functions of its file."""
        if not isinstance(function, FunctionType) or id(function) in self._known:
            return
        self._known.add(id(function))
        code, names = function.__code__, function.__globals__
        if not is_user_file(code.co_filename):
            return
        read = {n: names[n] for n in _names(code) if n in names}
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                read.setdefault(name, cell.cell_contents)
            except ValueError:  # a variable that has no value yet
                continue
        own = {n: v for n, v in read.items() if n in names and isinstance(v, _PLAIN)}
        if own:
            self._globals(names, own)
        for name, value in read.items():
            if isinstance(value, FunctionType) and value.__module__ == function.__module__:
                self._function(value)
            elif isinstance(value, (dict, list, set, deque, np.ndarray)):
                self._value(value, name)

    def _globals(self, names: Values, own: Values) -> None:
        def read() -> Values:
            return {n: names[n] for n in own if n in names}

        self._add(names, Slots(lambda key: f"global '{key}'", read, names.update, own))

    # --- what changes

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note what the first call of the module changes, and undo it at the end: a capture leaves
        tensors without data.
        """

        def look(*_: Any) -> None:
            self.seen = self.seen or [s for s in self._slots if s.changed()]

        handle = self._module.register_forward_hook(look, always_call=True)
        try:
            yield
        finally:
            handle.remove()
            self.restore()

    def restore(self) -> None:
        """Put back all values."""
        for slots in self._slots:
            if slots.changed():
                slots.write(slots.before)

    def check(self, args: Sequence[Any], kwargs: Mapping[str, Any], mutated: Sequence[str]) -> None:
        """Warn of the Python state that a call changes, with the lines that do it.

        Raises NIR_TORCH014 if a second call with equal inputs gives other results, or fails. The
        model is called in torch; `mutated` are the buffers that it changes.
        """
        if not self.seen:
            return
        lines = _Lines(self.seen)
        calls = _Calls(self._module, args, kwargs, mutated)
        try:
            first = calls.run(lines)
            if first is None or not lines.found:
                return
            second = calls.run()
        finally:
            self.restore()
            calls.restore()
        told = "; ".join(f"{name} ({place})" for name, place in lines.found.items())
        if second is None or not _equal(first, second):
            raise NeuronError(
                "NIR_TORCH014",
                "the results of the model depend on Python state that each call changes, which a "
                f"compiled model cannot do: {told}",
                location=next(iter(lines.found.values())),
                help="register the state with register_buffer and change it in place, or make it "
                "an argument and a result",
            )
        warnings.warn(
            f"the traced model does not change the Python state that the model changes: {told}",
            stacklevel=2,
        )


class _Calls:
    """Calls a module with equal inputs, buffers and random numbers each time."""

    def __init__(
        self,
        module: nn.Module,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        mutated: Sequence[str],
    ) -> None:
        self._module, self._args, self._kwargs = module, args, kwargs
        held = dict([*module.named_parameters(), *module.named_buffers()])
        self._held = [(held[n], held[n].detach().clone()) for n in mutated if n in held]

    def restore(self) -> None:
        """Put back the values of buffers."""
        for tensor, value in self._held:
            tensor.data.copy_(value)

    def run(self, tracer: Any = None) -> list[Any] | None:
        """Return the results of a call, or None if it fails."""
        self.restore()
        args, kwargs = pytree.tree_map_only(
            torch.Tensor, lambda t: t.detach().clone(), (tuple(self._args), dict(self._kwargs))
        )
        before = sys.gettrace()
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            try:
                if tracer is not None:
                    sys.settrace(tracer)
                return list(pytree.tree_leaves(self._module(*args, **kwargs)))
            except Exception:  # of the user's model: `check` reports that a second call fails
                return None
            finally:
                sys.settrace(before)


class _Lines:
    """A trace function that finds the user lines which change slots."""

    def __init__(self, slots: Sequence[Slots]) -> None:
        self._now = [(s, s.read()) for s in slots]
        self._last: SourceLocation | None = None
        self.found: dict[str, SourceLocation] = {}
        """The first line that changes each value, by its name."""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Attribute all changes since the last event to the previous line."""
        if not is_user_file(frame.f_code.co_filename):
            return None
        self._look()
        at: FrameType | None = frame
        if event == "return":  # the rest of the caller's line follows
            at = frame.f_back
            while at is not None and not is_user_file(at.f_code.co_filename):
                at = at.f_back
        if at is not None:
            self._last = SourceLocation(at.f_code.co_filename, at.f_lineno, 1)
        return self

    def _look(self) -> None:
        for i, (slots, values) in enumerate(self._now):
            for key in slots.changed(values):
                if self._last is not None:
                    self.found.setdefault(slots.name(key), self._last)
                self._now[i] = (slots, slots.read())


def _names(code: Any) -> Iterator[str]:
    """Yield the names that code and the functions inside it use."""
    yield from code.co_names
    for inner in code.co_consts:
        if hasattr(inner, "co_names"):
            yield from _names(inner)


def _of_torch(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "torch"


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    return type(one) is type(other) and isinstance(one, _PLAIN) and bool(one == other)


def _equal(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Compare results; sums of several threads may differ in their last bits."""
    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        if not isinstance(one, torch.Tensor):
            if isinstance(one, _PLAIN) and not _same(one, other):
                return False
        elif not isinstance(other, torch.Tensor) or one.shape != other.shape:
            return False
        elif one.dtype.is_floating_point or one.dtype.is_complex:
            if not torch.allclose(one, other, rtol=1e-4, atol=1e-6, equal_nan=True):
                return False
        elif not torch.equal(one, other):
            return False
    return True
