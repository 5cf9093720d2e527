"""Create the error for a program that does not fit: the live buffers at peak memory use."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.origin import source_of
from neuronir.dialects.nc.placement import end_of, place_variables, variable_bytes
from neuronir.dialects.nc.structure import VariableOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.nc.listing import Buffer, Node, machine_of
from neuronir.passes.nc.liveness import Life, rounded

_SHOWN = 16
_LESS = "use a smaller batch, split the operation, or compile for a larger machine"


@dataclass(frozen=True)
class Taken:
    """A live buffer: its bytes per partition, its partitions, and the first op that writes it."""

    bytes: int
    partitions: int
    writer: Operation | None


def out_of_memory(
    space: Space,
    required: int,
    available: int,
    place: int,
    order: Sequence[Node],
    buffers: Sequence[Buffer],
    lives: dict[int, Life],
) -> NeuronError:
    """Create NCC_EOOM002 with a map of the buffers that are live at `place`, largest first."""
    live = [
        k
        for k, life in lives.items()
        if buffers[k].space == space and life.first <= place <= life.last
    ]
    live.sort(key=lambda k: (-buffers[k].size, k))
    writers: dict[int, Operation] = {}
    for node in order:
        for access in node.accesses:
            if access.write:
                writers.setdefault(access.buffer, node.op)
    where = source_of(order[min(place, len(order) - 1)].op).name if order else ""
    taken = [Taken(buffers[k].size, buffers[k].partitions, writers.get(k)) for k in live]
    return too_small(space, required, available, where, taken)


def too_small(
    space: Space, required: int, available: int, where: str, taken: Sequence[Taken]
) -> NeuronError:
    """Create NCC_EOOM002 with a map of live buffers, largest first."""
    lines = []
    for one in taken[:_SHOWN]:
        name = _name(one.writer)
        opcode = one.writer.name if one.writer is not None else "nothing"
        origin = f"{opcode} of '{name}'" if name else opcode
        lines.append(f"  {rounded(one.bytes):>9} bytes  written by {origin}")
    if len(taken) > _SHOWN:
        others = sum(rounded(one.bytes) for one in taken[_SHOWN:])
        lines.append(f"  {others:>9} bytes  in {len(taken) - _SHOWN} other buffers")
    return NeuronError(
        "NCC_EOOM002",
        f"{space.name} is too small: {required} bytes per partition are needed, {available} are "
        f"available ({required - available} too many)",
        location=where or None,
        excerpt="live at the peak, bytes per partition:\n" + "\n".join(lines),
        help=_help(taken[0], available) if taken else _LESS,
    )


def verify_hbm(ops: Sequence[VariableOp], machine: Machine) -> None:
    """Raise NCC_EOOM002 with the largest variables if they exceed the memory of a core."""
    end = end_of(ops, place_variables(ops))
    if end > machine.hbm_bytes:
        own = [op for op in ops if op.members is None]
        largest = sorted(own, key=lambda v: -variable_bytes(v))[:8]
        lines = [
            f"  {variable_bytes(v):>14} bytes  {v.kind.data} @{v.sym_name.data}" for v in largest
        ]
        raise NeuronError(
            "NCC_EOOM002",
            f"device memory is too small: the variables take {end} bytes, {machine.name} has "
            f"{machine.hbm_bytes} ({end - machine.hbm_bytes} too many)",
            excerpt="the largest:\n" + "\n".join(lines),
            help="use a smaller batch or a narrower type, or split the model",
        )


def _name(writer: Operation | None) -> str:
    source = source_of(writer) if writer is not None else None
    return (source.name or source.framework) if source is not None else ""


def _help(largest: Taken, available: int) -> str:
    """Return the advice: fewer live bytes, unless one buffer alone is too large."""
    writer = largest.writer
    if largest.bytes <= available or writer is None:
        return _LESS
    name = f"'{_name(writer)}'" if _name(writer) else "the largest buffer"
    held = largest.partitions
    module = writer.get_toplevel_object()
    whole = machine_of(module).partitions if isinstance(module, ModuleOp) else held
    spread = f" over more of the {whole} partitions" if 2 * held <= whole else ""
    return (
        f"{name} alone needs {rounded(largest.bytes)} bytes on each of {held} partitions: split a "
        f"dimension that lies within a partition{spread}, or use a narrower type"
    )
