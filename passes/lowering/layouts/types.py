"""Return the data types of values, if the machine supports them."""

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name


def is_empty(value: SSAValue) -> bool:
    """Return whether an array has no elements."""
    return isinstance(value.type, TensorType) and 0 in value.type.get_shape()


def known_dtype(ssa: SSAValue, machine: Machine) -> DType:
    """Return the data type of a tensor value; raises NCC_ESPP004 if the machine does not support
    it.
    """
    type_ = cast(TensorType, ssa.type)
    try:
        dtype = dtype_of(type_.element_type)
    except KeyError:
        dtype = None
    if dtype is None or dtype.name not in machine.dtypes:
        owner = ssa.owner
        where = source_name(owner) if isinstance(owner, Operation) else ""
        if isinstance(ssa, BlockArgument):
            where = f"parameter {ssa.index}"
        raise NeuronError(
            "NCC_ESPP004",
            f"{where}: element type {type_.element_type} is not supported on {machine.name}",
            help=f"supported: {', '.join(sorted(machine.dtypes)).lower()}",
        )
    return dtype
