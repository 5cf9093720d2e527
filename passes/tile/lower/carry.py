"""Carry the values of an iteration to the next one: one assignment of all states at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.conversion.memory import copy_in_hbm
from neuronir.passes.lowering.layouts.layout import Form, partition_signature
from neuronir.passes.lowering.layouts.views import plan
from neuronir.passes.tile.lower.memory import copy, in_hbm, store_form
from neuronir.passes.tile.lower.state import Lower


@dataclass
class _Move:
    """A value of this iteration at `source`, which the next one reads at `home`."""

    value: SSAValue
    source: Form
    home: Form

    def disturbs(self, other: "_Move") -> bool:
        """Return whether this move overwrites what the other one reads."""
        return self.home.buffer is other.source.buffer

    def put_aside(self, state: Lower) -> None:
        """Copy the value to a buffer of its own."""
        if self.home.hbm:
            aside = in_hbm(state, "scratch", "scratch", self.value)
            copy_in_hbm(state.emitter, self.source, aside)
        else:
            aside = state.buffer(
                state.place(self.value), prod(shape_of(self.value)), state.dtype(self.value)
            )
            copy(state, self.source, aside)
        self.source = aside

    def write(self, state: Lower) -> None:
        """Copy the value to its home."""
        if not self.home.hbm:
            copy(state, self.source, self.home)
        elif self.source.hbm:
            copy_in_hbm(state.emitter, self.source, self.home)
        else:
            store_form(state, self.source, shape_of(self.value), self.home)


def carry(state: Lower, values: Sequence[SSAValue], states: Sequence[SSAValue]) -> None:
    """Copy values to where the next iteration reads its states, unless they are there.

    A value may be the old value of another state, as in an exchange of two, or a view of its own
    state. A state is overwritten only after all values in its memory have been copied.
    """
    moves = [m for v, s in zip(values, states, strict=True) if (m := _move(state, v, s))]
    while moves:
        safe = (m for m in moves if not any(m.disturbs(o) for o in moves if o is not m))
        move = next(safe, None)
        if move is None:  # each waits for another one
            kept = (m for m in moves if any(o.disturbs(m) for o in moves if o is not m))
            next(kept).put_aside(state)
            continue
        if move.disturbs(move):
            move.put_aside(state)
        move.write(state)
        moves.remove(move)


def _move(state: Lower, value: SSAValue, carried: SSAValue) -> _Move | None:
    """Return the move of a value, or None if the next iteration reads it where it is."""
    home = state.memory.get(carried)
    if home is None:
        home = state.held(carried)
        source = state.held(value)
    else:
        source = state.memory.get(value) or state.held(value)
    return None if _same(source, home) else _Move(value, source, home)


def _same(one: Form, other: Form) -> bool:
    """Return whether two copies have each element at the same location."""
    if one.buffer is not other.buffer or one.locate(0) != other.locate(0):
        return False
    if partition_signature(one) != partition_signature(other) or one.indices != other.indices:
        return False
    dims = plan([one, other], [a for a, _ in other.free])
    return dims is not None and all(d.strides[0] == d.strides[1] for d in dims)
