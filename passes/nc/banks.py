"""Assign PSUM addresses: whole banks in rotation, so that PE can run ahead of its readers."""

from collections.abc import Sequence

from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.pack import Item, Work, liveness_bound, pack

SEARCH = 1_000_000
"""Effort of a search for a packing, in steps times buffers."""


def allocate_banks(
    items: Sequence[Item], machine: Machine, rotate: bool = True
) -> dict[int, int] | int:
    """Return addresses by key of PSUM buffers, or the key of the first one without room.

    A buffer is inside one bank, or at the start of a bank if it is larger. It takes the bank that
    has been empty longest (without `rotate`, the first empty one). If no bank is empty, buffers
    share one. If a larger buffer finds no empty banks next to each other, whole banks are packed.
    """
    found = _in_order(items, machine, rotate)
    if isinstance(found, int) and any(item.size > machine.psum_bank_bytes for item in items):
        return _packed(items, machine) or found
    return found


def _packed(items: Sequence[Item], machine: Machine) -> dict[int, int] | None:
    """Return addresses of buffers that each have banks of their own; None if none are found."""
    bank, count = machine.psum_bank_bytes, machine.psum_banks
    whole = [Item(item.key, -(-item.size // bank), item.first, item.last) for item in items]
    if liveness_bound(whole) > count:
        return None
    packing = pack(whole, count, work=Work(SEARCH))
    if packing.height > count:
        return None
    return {key: place * bank for key, place in packing.offsets.items()}


def _in_order(items: Sequence[Item], machine: Machine, rotate: bool) -> dict[int, int] | int:
    """Return addresses of buffers placed in program order, or the key of the first without room."""
    bank = machine.psum_bank_bytes
    count = machine.psum_banks
    residents: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]  # (last, low, high)
    vacant = [-(count - b) for b in range(count)]  # position from which a bank is empty
    out: dict[int, int] = {}
    for item in sorted(items, key=lambda i: (i.first, i.key)):
        for b in range(count):
            stays = [r for r in residents[b] if r[0] >= item.first]
            if residents[b] and not stays:
                vacant[b] = max(r[0] for r in residents[b])
            residents[b] = stays
        need = -(-item.size // bank)
        runs = [
            b for b in range(count - need + 1) if not any(residents[b + i] for i in range(need))
        ]
        if runs:
            b = min(runs, key=lambda b: (max(vacant[b : b + need]), b)) if rotate else runs[0]
            for i in range(need):
                high = min(bank, item.size - i * bank)
                residents[b + i].append((item.last, 0, high))
            out[item.key] = b * bank
            continue
        shared = _share(residents, item, bank) if need == 1 else None
        if shared is None:
            return item.key
        b, low = shared
        residents[b].append((item.last, low, low + item.size))
        out[item.key] = b * bank + low
    return out


def _share(
    residents: Sequence[Sequence[tuple[int, int, int]]], item: Item, bank: int
) -> tuple[int, int] | None:
    """Return (bank, offset) of room next to other buffers."""
    for b, others in enumerate(residents):
        low = 0
        for _, start, end in sorted(others, key=lambda r: r[1]):
            if start - low >= item.size:
                break
            low = max(low, end)
        if low + item.size <= bank:
            return b, low
    return None
