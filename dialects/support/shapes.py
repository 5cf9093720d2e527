"""The dimensions of tensor types, which passes ask for all the time."""

from typing import Any

from xdsl.dialects.builtin import TensorType

from neuronir.dialects.support.identity import by_identity


def _extents(type_: TensorType[Any]) -> tuple[int, ...]:
    return type_.get_shape()


extents = by_identity(_extents)
"""The dimensions of a tensor type, remembered: xDSL makes the tuple at each `get_shape`."""
