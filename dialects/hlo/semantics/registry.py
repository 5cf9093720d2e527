"""Map ops to the functions that evaluate them, and read op properties.

A binder reads the properties of an op once and returns a function of the operand values, so that an
op in a loop decodes its attributes only once.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Operation

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.semantics.numeric import Value
from neuronir.dialects.support.dtypes import np_dtype
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import file_line_col, source_name
from neuronir.dialects.support.shapes import extents

Bound: TypeAlias = Callable[..., Value]
Binder: TypeAlias = Callable[[Operation], Bound]

_BINDERS: dict[str, Binder] = {}


def binder(*names: str) -> Callable[[Binder], Binder]:
    """Register a binder for the ops of these names ("hlo.dot")."""

    def register(function: Binder) -> Binder:
        for name in names:
            _BINDERS[name] = function
        return function

    return register


def has_semantics(op: Operation) -> bool:
    """Return whether `op` can be evaluated (a custom call can still be rejected for its target)."""
    return op.name in _BINDERS


def bind(op: Operation) -> Bound:
    """Return the function that computes the result of `op` from its operand values."""
    function = _BINDERS.get(op.name)
    if function is None:
        raise unsupported(op, f"'{op.name}' has no reference semantics on one device")
    return function(op)


def unsupported(op: Operation, reason: str) -> NeuronError:
    """Return the error for an op that cannot be evaluated."""
    named = source_name(op)
    return NeuronError(
        "NIR_EVAL001",
        f"{reason} (instruction '{named}')" if named else reason,
        location=file_line_col(op),
        help="the reference interpreter runs single-device programs without side effects",
    )


def index_list(op: Operation, name: str) -> tuple[int, ...]:
    """Return an index list property; empty if the op does not have it."""
    attribute = op.properties.get(name)
    return () if attribute is None else ints(attribute)


def integer(op: Operation, name: str, default: int = 0) -> int:
    """Return an integer (or boolean, or unit) property."""
    attribute = op.properties.get(name)
    if attribute is None:
        return default
    return int(attribute.value.data) if isinstance(attribute, IntegerAttr) else 1


def flag(op: Operation, name: str, default: bool = False) -> bool:
    """Return a boolean property."""
    attribute = op.properties.get(name)
    if attribute is None:
        return default
    if isinstance(attribute, IntegerAttr | BoolAttr):
        return bool(attribute.value.data)
    return True


def text(op: Operation, name: str, default: str = "") -> str:
    """Return a string property."""
    attribute = op.properties.get(name)
    return attribute.data if isinstance(attribute, StringAttr) else default


def is_scalar(type_: Attribute) -> bool:
    """Return whether the type is a tensor of rank 0."""
    return isinstance(type_, TensorType) and extents(type_) == ()


def moves_scalar(op: Operation) -> bool:
    """Return whether `op` maps one scalar to one scalar, so that moving it does nothing."""
    return is_scalar(op.results[0].type) and all(is_scalar(v.type) for v in op.operands)


def shape_and_dtype(type_: Attribute) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and numpy type of a tensor type."""
    assert isinstance(type_, TensorType), type_
    return extents(type_), np_dtype(type_.element_type)


def result_of(op: Operation) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the declared shape and numpy type of the single (tensor) result of `op`."""
    return shape_and_dtype(op.results[0].type)
