"""Assign HBM addresses to the variables of a program."""

from collections.abc import Iterable, Mapping, Sequence

from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.structure import VariableOp
from neuronir.dialects.support.errors import NeuronError

ALIGNMENT = 64
"""Variables begin at multiples of this many bytes: the granule of DMA."""


def variable_bytes(op: VariableOp) -> int:
    """Return the bytes of a variable."""
    size = dtype_of(op.type.element_type).size
    for extent in op.type.get_shape():
        size *= extent
    return size


def aligned(size: int) -> int:
    """Round `size` bytes up to the alignment of variables."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def end_of(ops: Iterable[VariableOp], addresses: Mapping[str, int]) -> int:
    """Return the address (bytes) behind all variables."""
    return max((addresses[op.sym_name.data] + variable_bytes(op) for op in ops), default=0)


def place_variables(ops: Sequence[VariableOp]) -> dict[str, int]:
    """Return the address (bytes) of each variable: its own, or one after all fixed ones.

    Members of a variable are placed inside it. Raises NIR_NC004 if a member does not exist or fit.
    """
    known = {op.sym_name.data: op for op in ops}
    found: dict[str, int] = {}
    top = 0
    for name, op in known.items():
        if op.address is not None:
            found[name] = op.address.value.data
            top = max(top, found[name] + variable_bytes(op))
    inside = {member for op in ops for member in op.member_names}
    for name, op in known.items():
        if name not in found and name not in inside:
            found[name] = aligned(top)
            top = found[name] + variable_bytes(op)
    for name, op in known.items():
        members = op.member_names
        pitch = variable_bytes(op) // max(len(members), 1)
        for k, member in enumerate(members):
            if member not in known or variable_bytes(known[member]) > pitch:
                what = "there is no such nc.variable" if member not in known else "it is too large"
                raise NeuronError("NIR_NC004", f"nc.variable @{name} of @{member}: {what}")
            found.setdefault(member, found[name] + k * pitch)
            if found[member] != found[name] + k * pitch:
                raise NeuronError(
                    "NIR_NC004",
                    f"nc.variable @{name} of @{member}: the member is at another address",
                )
    return found
