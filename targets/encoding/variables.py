"""Convert nc.variable ops to the variables of a program."""

from collections.abc import Iterator
from functools import partial
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, MemRefType
from xdsl.ir import Attribute

from neuronir.dialects.hlo.constants import lazy_constant
from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.instruction import Variable
from neuronir.dialects.nc.structure import VariableOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.lazy import LazyArray
from neuronir.dialects.support.output import Buffer, Stream
from neuronir.dialects.support.recipe import Array, Maker


def variable_of(op: VariableOp) -> Variable:
    """Return the variable: its address, its array and, for a constant, its bytes."""
    type_ = cast(MemRefType, op.type)
    dtype = dtype_of(type_.element_type)
    shape = tuple(type_.get_shape())
    name = op.sym_name.data
    if op.address is None:
        raise NeuronError(
            "NIR_ENC006",
            f"the nc module cannot be encoded: variable @{name} has no address",
            help="run nc-allocate first",
        )
    size = dtype.size
    for extent in shape:
        size *= extent
    data = None
    if op.value is not None:
        data = _bytes_of(op.value)
        if len(data) != size:
            raise NeuronError(
                "NIR_ENC006",
                f"the nc module cannot be encoded: constant @{name} has {len(data)} bytes, its "
                f"buffer {size}",
            )
    return Variable(
        op.source_name.data if op.source_name is not None else name,
        op.kind.data,
        size,
        op.address.value.data,
        shape,
        dtype,
        strides_of(shape, dtype.size, minor_to_major(op, len(shape))),
        op.index.value.data if op.index is not None else -1,
        data,
    )


def _bytes_of(value: Attribute) -> Buffer | Stream:
    """Return the bytes of a constant; those of a lazy one are generated on request."""
    array = lazy_constant(value)
    if isinstance(array, LazyArray) and array.whole is not None:
        return Stream(array.nbytes, partial(_pieces, array.whole))
    return _raw(np.asarray(array))


def _pieces(maker: Maker) -> Iterator[Buffer]:
    return map(_raw, maker.pieces())


def _raw(array: Array) -> Buffer:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def minor_to_major(op: VariableOp, rank: int) -> tuple[int, ...]:
    """Return the dimensions of a variable, densest first."""
    if isinstance(op.layout, DenseArrayBase):
        return tuple(int(d) for d in op.layout.get_values())
    return tuple(reversed(range(rank)))


def strides_of(
    shape: tuple[int, ...], element: int, minor_to_major: tuple[int, ...]
) -> tuple[int, ...]:
    """Return byte strides by logical dimension of an array stored in that order."""
    strides = [0] * len(shape)
    step = element
    for dimension in minor_to_major:
        strides[dimension] = step
        step *= shape[dimension]
    return tuple(strides)
