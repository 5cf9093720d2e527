"""Read the index vectors of a gather or scatter, one component at a time."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_float, is_unsigned
from neuronir.passes.hlo.support.build import Builder
from neuronir.passes.hlo.support.values import element, shape


def index_dims(indices: SSAValue, vector_dim: int, batching: Sequence[int]) -> list[int]:
    """Return the dimensions of indices that number the vectors, those of the batch first."""
    rest = (d for d in range(len(shape(indices))) if d != vector_dim and d not in batching)
    return [*batching, *rest]


def groups_of(values: SSAValue, batching: Sequence[int]) -> tuple[int, ...]:
    """Return the leading dimensions of arrays in groups: the size of the batch, or none."""
    return (prod(shape(values)[d] for d in batching),) if batching else ()


def component(
    e: Builder, indices: SSAValue, vector_dim: int, number: int, batching: Sequence[int]
) -> SSAValue:
    """Return a component of all index vectors: [count], or [groups, count] with a batch."""
    dims = shape(indices)
    groups = groups_of(indices, batching)
    order = index_dims(indices, vector_dim, batching)
    if vector_dim < len(dims):
        starts, limits = [0] * len(dims), list(dims)
        starts[vector_dim], limits[vector_dim] = number, number + 1
        indices = e.slice(indices, starts, limits)
        order.append(vector_dim)
    count = prod(shape(indices)) // max(1, prod(groups))
    return e.reshape(e.transpose(indices, order), (*groups, count))


def row_distances(dims: Sequence[int], sizes: Sequence[int], moved: Sequence[int]) -> list[int]:
    """Return how far each row of a window is from its first one.

    Rows are numbered by their positions along the dimensions `moved` of a table.
    """
    found = [0]
    for d in moved:
        found = [first * dims[d] + k for first in found for k in range(sizes[d])]
    return found


def bounded(e: Builder, numbers: SSAValue, last: int, kind: Attribute) -> SSAValue:
    """Return indices clamped to [0, last] in a type: i32, or f32 if `last` is below 2^24.

    A machine that computes in fp32 clamps integers of 32 bits in several steps, but an fp32 beyond
    2^24 is rounded to one beyond.
    """
    if is_unsigned(element(numbers)) and byte_size(element(numbers)) >= 4 and not is_float(kind):
        numbers = e.binary_number("minimum", numbers, last)  # or become negative
    numbers = e.convert(numbers, kind)
    return e.binary_number("minimum", e.binary_number("maximum", numbers, 0), last)
