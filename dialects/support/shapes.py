"""Cache the dimensions of tensor types, which passes read frequently."""

from typing import Any

from xdsl.dialects.builtin import TensorType

from neuronir.dialects.support.identity import by_identity


def _extents(type_: TensorType[Any]) -> tuple[int, ...]:
    return type_.get_shape()


extents = by_identity(_extents)
"""Return the cached dimensions of a tensor type; xDSL rebuilds the tuple in each `get_shape`."""
