"""Place variables in HBM: one after another, or where that is too much, by their live ranges.

Values that the program itself puts aside are live from their first store to their last load. Where
the device memory is too small for all variables at once, those that are never live together share
bytes: scratch arrays among each other, and spilled values among each other, so that an address
still tells the kind.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.placement import (
    ALIGNMENT,
    aligned,
    end_of,
    place_variables,
    variable_bytes,
)
from neuronir.dialects.nc.structure import VariableOp
from neuronir.passes.nc.dependence import conflict
from neuronir.passes.nc.listing import Access, Buffer, Listing, Node
from neuronir.passes.nc.liveness import Life, deep_lifetimes
from neuronir.passes.nc.pack import Item, liveness_bound, pack
from neuronir.passes.statistics import record

SHARED = ("scratch", "spill")
"""Kinds of variables that may share bytes: those that neither the host nor the file fills."""


def can_share(ops: Sequence[VariableOp]) -> list[VariableOp]:
    """Return the variables that may share bytes with others: those without an address that are no
    part of another one.
    """
    inside = {member for op in ops for member in op.member_names}
    return [
        op
        for op in ops
        if op.kind.data in SHARED
        and op.address is None
        and not op.member_names
        and op.sym_name.data not in inside
    ]


def place_hbm(
    ops: Sequence[VariableOp],
    machine: Machine,
    order: Sequence[Node],
    buffers: Sequence[Buffer],
) -> dict[str, int]:
    """Return the HBM address (bytes) of each variable, by name.

    `order` are the nodes of the only function, and `buffers` what they access. Variables share
    bytes only if they exceed the memory of a core otherwise.
    """
    found = place_variables(ops)
    if end_of(ops, found) <= machine.hbm_bytes:
        return found
    lives = deep_lifetimes(order, buffers)[0]
    live = {buffers[key].name: life for key, life in lives.items() if buffers[key].name}
    sharing = [op for op in can_share(ops) if op.sym_name.data in live]
    names = {op.sym_name.data for op in sharing}
    rest = [op for op in ops if op.sym_name.data not in names]
    found = place_variables(rest)
    top = aligned(end_of(rest, found))
    for kind in SHARED:
        some = [op for op in sharing if op.kind.data == kind]
        offsets, height = _packed(some, live)
        found.update({name: top + offset for name, offset in offsets.items()})
        before = sum(aligned(variable_bytes(op)) for op in some)
        record("nc-allocate", f"bytes of HBM that {kind} values share", before - height)
        top += height
    return found


def _packed(ops: Sequence[VariableOp], live: Mapping[str, Life]) -> tuple[dict[str, int], int]:
    """Return the offset (bytes) of each variable in a shared region, and the region's bytes."""
    items = [
        Item(
            key,
            aligned(variable_bytes(op)) // ALIGNMENT,
            live[op.sym_name.data].first,
            live[op.sym_name.data].last,
        )
        for key, op in enumerate(ops)
    ]
    packing = pack(items, liveness_bound(items))
    offsets = {ops[key].sym_name.data: at * ALIGNMENT for key, at in packing.offsets.items()}
    return offsets, packing.height * ALIGNMENT


def clobbered(listing: Listing) -> Node | None:
    """Return the first node found that may write what another variable of the same bytes holds.

    Of two variables that share bytes, all accesses of one must precede those of the other to the
    same bytes. A loop counts as a unit.
    """
    pairs = list(_sharing(listing.buffers))
    if not pairs:
        return None
    lives = deep_lifetimes(listing.nodes, listing.buffers)[0]
    pairs = [(a, b) for a, b in pairs if _live_together(a, b, lives)]
    accesses: dict[int, list[tuple[int, Access]]] = {}
    for unit, node in enumerate(listing.nodes):
        for access in node.accesses:
            accesses.setdefault(access.buffer, []).append((unit, access))
    for a, b in pairs:
        before = after = False
        for (i, x), (j, y) in product(accesses.get(a, ()), accesses.get(b, ())):
            if not conflict(x, y, listing.bounds):
                continue
            before |= i <= j
            after |= i >= j
            if before and after:
                return listing.nodes[max(i, j)]
    return None


def _live_together(a: int, b: int, lives: Mapping[int, Life]) -> bool:
    one, other = lives.get(a), lives.get(b)
    if one is None or other is None:
        return False
    return one.first <= other.last and other.first <= one.last


def _sharing(buffers: Sequence[Buffer]) -> Iterator[tuple[int, int]]:
    """Return the pairs of variables with addresses that share bytes."""
    placed = [
        b
        for b in buffers
        if b.space == Space.HBM and b.role in SHARED and b.name and b.address >= 0
    ]
    active: list[Buffer] = []
    for buffer in sorted(placed, key=lambda b: b.address):
        active = [b for b in active if b.address + b.size > buffer.address]
        yield from ((b.key, buffer.key) for b in active)
        active.append(buffer)
