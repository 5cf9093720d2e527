"""Represent one operand of a static instruction: its views by address, and validity."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import AccessPattern
from neuronir.targets.simulator.memory import Memory
from neuronir.targets.simulator.walker import Env

View = NDArray[Any]
_CACHE_LIMIT = 2048


class Entry:
    """The views of an operand at one address.

    `checked` means that its bytes are known to be written (bytes never become unwritten again).
    With `marked`, they are marked as written. `kind` is that of the HBM variable.
    """

    __slots__ = ("address", "array", "checked", "kind", "marked", "started", "valid")

    def __init__(self, operand: "Operand", address: int) -> None:
        memory, ap = operand.memory, operand.ap
        self.address = address
        self.array: View = memory.view(ap, address)
        self.valid: View | None = memory.valid_view(ap, address)
        self.checked = self.valid is None
        self.marked = self.valid is None
        self.started: View | None = None
        self.kind = ""
        if ap.space == Space.PSUM:
            self.started = memory.started_view(ap, address)
        elif ap.space == Space.HBM:
            variable = memory.variable_at(ap, address)
            self.kind = variable.kind if variable is not None else "none"


class Operand:
    """An access pattern bound to a memory."""

    __slots__ = ("ap", "const", "bytes", "entries", "full", "memory", "terms")

    def __init__(self, memory: Memory, ap: AccessPattern) -> None:
        self.memory = memory
        self.ap = ap
        self.const = ap.address.const
        self.terms = ap.address.terms
        self.bytes = ap.bytes
        self.entries: dict[int, Entry] = {}
        self.full = int(np.iinfo(f"u{ap.dtype.size}").max)

    def at(self, env: Env) -> Entry:
        """Return its views for the current values of the symbols; raises memory.OutOfRange."""
        address = self.const
        for symbol, coefficient in self.terms:
            address += coefficient * env[symbol]
        entry = self.entries.get(address)
        if entry is None:
            if len(self.entries) >= _CACHE_LIMIT:
                self.entries.clear()
            entry = self.entries[address] = Entry(self, address)
        return entry

    def written(self, entry: Entry) -> bool:
        """Return whether all bytes of the operand have been written; caches a yes."""
        if entry.valid is not None and not entry.checked:
            entry.checked = bool(entry.valid.min() == self.full)
        return entry.checked

    def mark(self, entry: Entry) -> None:
        """Mark all bytes of the operand as written."""
        if entry.valid is not None:
            entry.valid[...] = self.full
        entry.marked = entry.checked = True
