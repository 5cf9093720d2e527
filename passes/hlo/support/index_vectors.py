"""Read the index vectors of a gather or scatter, one component at a time."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from neuronir.passes.hlo.support.build import Builder
from neuronir.passes.hlo.support.values import shape


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
