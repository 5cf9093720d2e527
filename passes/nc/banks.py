"""Assign PSUM addresses: whole banks in rotation, so that PE can run ahead of its readers."""

from collections.abc import Sequence

from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.pack import Item


def allocate_banks(
    items: Sequence[Item], machine: Machine, rotate: bool = True
) -> dict[int, int] | int:
    """Return addresses by key of PSUM buffers, or the key of the first one without room.

    A buffer is inside one bank, or at the start of a bank if it is larger. It takes the bank that
    has been empty longest (without `rotate`, the first empty one). If no bank is empty, buffers
    share one.
    """
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
