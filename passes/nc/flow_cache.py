"""Keep the value flow of a function between the checks of successive passes.

The program behind one pass is the program before the next one. Its steps, and what it computes, are
found once: a flow is computed again only if another check visits other iterations or other pieces
of its transfers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from neuronir.passes.nc.flow_steps import FlowProgram
from neuronir.passes.nc.flow_values import Cut, Flow, Names, Values
from neuronir.passes.nc.listing import Listing, Node
from neuronir.passes.nc.value_flow import flow_of

_Key = tuple[object, ...]


@dataclass(frozen=True)
class Visit:
    """A walk through a function: which iterations of its loops, and which pieces of transfers.

    `numbers` are the labels of loops. With `marked`, instructions carry the marks of provenance.py.
    `cuts` shorten loops, `pieces` replace transfers (by position), and loops with a runtime count
    have `trips` iterations.
    """

    listing: Listing
    numbers: Mapping[int, int]
    marked: bool
    cuts: Mapping[int, Cut]
    trips: int
    pieces: Mapping[int, Sequence[Node]]

    def program(self) -> _Key:
        """Return a key for the steps."""
        loops = (self.marked, *sorted(self.numbers.items())) if self.listing.loops else ()
        return id(self.listing), loops, tuple(sorted(self.pieces))

    def key(self) -> _Key:
        """Return a key for the flow."""
        cuts = sorted((n, c.first, c.left_out, c.step) for n, c in self.cuts.items())
        return *self.program(), tuple(cuts), self.trips


@dataclass(frozen=True)
class Known:
    """A flow, and the numbers of the values in it."""

    flow: Flow
    values: Values


@dataclass
class Flows:
    """The flows of the functions of a module."""

    names: Names = field(default_factory=Names)
    programs: dict[_Key, FlowProgram] = field(default_factory=dict)
    known: dict[_Key, Known] = field(default_factory=dict)
    listings: dict[int, Listing] = field(default_factory=dict)
    """The listings of the above, whose identities are in the keys."""

    def before(self, visit: Visit) -> Known:
        """Return the flow of a program with which another one is compared.

        If the program was itself found equal to an earlier one, the numbers are those of both:
        bytes that the earlier one never wrote may differ in all programs that follow.
        """
        found = self.known.get(visit.key())
        if found is None:
            values = Values(self.names)
            flow = flow_of(self._program(visit), values, visit.cuts, trips=visit.trips)
            found = Known(flow, values)
        return found

    def behind(self, visit: Visit, values: Values) -> Flow:
        """Return the flow of a program that is compared with one whose values are numbered."""
        limit = len(values.instructions)
        program = self._program(visit)
        flow = flow_of(program, values, visit.cuts, known=limit, trips=visit.trips)
        self.known[visit.key()] = Known(flow, values)
        return flow

    def keep(self, listings: Iterable[Listing]) -> None:
        """Forget all functions but these."""
        self.listings = {id(listing): listing for listing in listings}
        for table in (self.programs, self.known):
            for key in [key for key in table if key[0] not in self.listings]:
                del table[key]

    def _program(self, visit: Visit) -> FlowProgram:
        key = visit.program()
        found = self.programs.get(key)
        if found is None:
            self.listings[id(visit.listing)] = visit.listing
            like = next((p for k, p in self.programs.items() if k[:2] == key[:2]), None)
            found = FlowProgram(visit.listing, self.names, visit.numbers, visit.pieces, like)
            self.programs[key] = found
        return found
