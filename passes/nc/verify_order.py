"""nc-verify-order: check that passes that move, rename or place preserve a module's computation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import cast
from weakref import WeakKeyDictionary

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.passes import ModulePass

from neuronir.dialects.nc.attributes import PatternAttr
from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.instruction import ASSUMED_ITERATIONS
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import AllocOp, CallOp, VariableOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.loops import LoopOp
from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.flow_cache import Flows, Visit
from neuronir.passes.nc.flow_values import COUNTS, Cut
from neuronir.passes.nc.listing import (
    Listing,
    Node,
    functions,
    list_function,
    phase_of,
    variables,
)
from neuronir.passes.nc.place_hbm import clobbered
from neuronir.passes.nc.provenance import loop_number, mark, step_of, unmark
from neuronir.passes.nc.split_loads import loads_own
from neuronir.passes.nc.split_transfers import PIECE, in_loop, parts_behind_order, parts_of
from neuronir.passes.nc.verify_machine import PLACED, location_of, written_out

_ITERATIONS = 3
"""Minimum iterations that are checked of a loop, or of the kernel that replaced it."""


@dataclass
class Snapshot:
    """The state of a module before passes changed it.

    `whole` says that a load which nc-split-loads would split is in one piece.
    """

    phase: str
    piece: int
    whole: bool = False
    listings: dict[str, Listing] = field(default_factory=dict)
    trace: list[object] = field(default_factory=list)
    flows: Flows = field(default_factory=Flows)


_SNAPSHOTS: "WeakKeyDictionary[ModuleOp, Snapshot]" = WeakKeyDictionary()


@dataclass(frozen=True)
class NcVerifyOrderPass(ModulePass):
    """Check that passes preserve the values that each instruction reads.

    Run it before and after passes that reorder, rename or allocate: `-p
    nc-verify-order,nc-schedule,nc-verify-order`. The first run records the program, and the next
    one compares. Each value is followed byte by byte from the inputs through all buffers. An
    instruction must read from each byte what the same instruction wrote there before, whatever the
    name and address of the buffer (flow dependences), without writes in between (anti and output
    dependences). For long loops the first and last iterations are checked. The first violation
    raises NIR_NC011.
    """

    name = "nc-verify-order"
    piece: int = field(
        default=PIECE, metadata={"help": "as for nc-split-loads or nc-split-transfers"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Compare the module with its record, and record it.

        Only marks are changed; the next check removes them.
        """
        before = _SNAPSHOTS.get(op)
        try:
            if before is not None:
                check_order(before, take_snapshot(op, self.piece, marked=True))
        finally:
            unmark(op)
        _SNAPSHOTS[op] = take_snapshot(op, self.piece)
        if phase_of(op) == "virtual":
            mark(op)


def take_snapshot(module: ModuleOp, piece: int = PIECE, *, marked: bool = False) -> Snapshot:
    """Record the data flow of a module.

    Mark a module of phase `virtual` with `mark` before the passes that follow. With `marked`, it is
    the result of such passes, and its marks are kept.
    """
    phase = phase_of(module)
    out = Snapshot(phase, piece)
    if phase == "virtual":
        if _is_plain(module):
            pass  # the module is already as nc-unroll prepares it, and has no loops to mark
        elif marked:
            module = written_out(module)
        else:
            mark(module)
            copy = written_out(module)
            unmark(module)
            module = copy
    else:
        out.trace = _trace(module)
    kinds = variables(module)
    own = partial(loads_own, kinds)

    def parts(op: InstructionOp) -> list[DmaOp]:
        virtual = phase == "virtual"
        made = parts_of(op, piece, own) if virtual else parts_behind_order(op, piece)
        if made and not out.whole and not in_loop(op):
            target, source = op.views()
            assert target is not None and source is not None
            out.whole = own(target, source)
        return made

    with bodies_in_place(module):
        for func in functions(module):
            listing = list_function(func, kinds, placed=phase in PLACED, parts=parts)
            out.listings[func.sym_name.data] = listing
    return out


def _is_plain(module: ModuleOp) -> bool:
    """Return whether a module has no loops, calls or index operands."""
    for op in walk(module):
        kind = _traced(type(op))
        if kind is LoopOp or (
            kind is InstructionOp and cast(InstructionOp, op).buffer_count < len(op._operands)
        ):
            return False
    return True


def unchanged(before: Snapshot, module: ModuleOp) -> bool:
    """Return whether a module has the instructions of a snapshot in the same order, except for
    waits.
    """
    return before.phase != "virtual" and _trace(module) == before.trace


def check_order(before: Snapshot, behind: Snapshot) -> None:
    """Raise NIR_NC011 if the data flow of a module has changed."""
    flows = behind.flows = before.flows
    for name, made in behind.listings.items():
        _check_sharing(made)
        known = before.listings.get(name)
        if known is not None:
            _Comparison(before.phase, known, made, behind.whole, flows).check()
    flows.keep(behind.listings.values())


def _check_sharing(listing: Listing) -> None:
    """Raise NIR_NC011 if variables that share bytes of HBM are needed together: the flow of values
    takes all variables for disjoint.
    """
    node = clobbered(listing) if listing.placed else None
    if node is not None:
        raise NeuronError(
            "NIR_NC011",
            f"{node.op.name} may overwrite the bytes of a variable that is needed later",
            location=location_of(node.op),
            help="variables that share bytes of HBM must be used one after the other",
        )


def _trace(module: ModuleOp) -> list[object]:
    """Return the instructions in order, with everything on which their values depend except
    waits.
    """
    out: list[object] = []
    for op in walk(module):
        count = 0
        kind = _traced(type(op))
        if kind is InstructionOp:
            properties = op.properties
            patterns = cast(ArrayAttr[Attribute], properties["patterns"])
            out += (op, patterns, properties.get("params"), properties.get("engine"))
            count = cast(InstructionOp, op).buffer_count
            if len(op._operands) > count:  # waits may have some of them too
                known = (p.data for p in patterns.data if isinstance(p, PatternAttr))
                count += max((i + 1 for pattern in known for i, _ in pattern.terms), default=0)
        elif kind is AllocOp:
            out += (op, cast(AllocOp | VariableOp, op).address)
        elif kind is LoopOp:
            out.append(op.name)
            count = len(op.operands)
        for value in op._operands[:count] if count else ():
            out.append(value.index if isinstance(value, BlockArgument) else value.owner)
    return out


@cache
def _traced(class_: type[Operation]) -> object:
    """Return what a trace records about ops of a class; None if nothing."""
    if issubclass(class_, InstructionOp):
        return InstructionOp
    if issubclass(class_, AllocOp | VariableOp):
        return AllocOp
    return LoopOp if issubclass(class_, LoopOp | scf.YieldOp | CallOp) else None


@dataclass
class _Comparison:
    """A function before and after passes."""

    phase: str
    known: Listing
    made: Listing
    whole: bool  # whether nc-split-loads may not have run in between
    flows: Flows

    def check(self) -> None:
        """Raise NIR_NC011 if the outputs differ."""
        pieces = self._pieces()
        counted = any(loop.counted for loop in self.known.loops)
        for trips in (0, ASSUMED_ITERATIONS) if counted else (0,):
            wrong = self._wrong(pieces, trips)
            if wrong is not None and self.whole and pieces:
                wrong = self._wrong({}, trips)
            if wrong is not None:
                break
        else:
            return
        stranger, output = wrong
        if stranger is not None:
            raise NeuronError(
                "NIR_NC011",
                f"{stranger.op.name} reads other values than in the order before",
                location=location_of(stranger.op),
                help="a producer of its operands, or a write to their bytes, has moved",
            )
        what = "a list of the trip counts of loops" if output == COUNTS else f"output @{output}"
        raise NeuronError(
            "NIR_NC011",
            f"{what} does not end with the values of the order before",
            help="two instructions that write the same bytes were reordered, or one was removed",
        )

    def _wrong(
        self, pieces: Mapping[int, list[Node]], trips: int
    ) -> tuple[Node | None, str] | None:
        """Return the first instruction that differs, and an output; None if all are equal.

        `pieces` replace transfers of the original function, before the passes. Loops with a runtime
        count have `trips` iterations.
        """
        cuts = self._cuts()
        if cuts and self._difference(cuts, pieces, trips) is None:
            return None
        return self._difference({}, pieces, trips)  # skipped iterations could be the reason

    def _difference(
        self, cuts: Mapping[int, tuple[Cut, Cut]], pieces: Mapping[int, list[Node]], trips: int
    ) -> tuple[Node | None, str] | None:
        """Return what differs if the iterations `cuts` are skipped."""
        first = {n: pair[0] for n, pair in cuts.items()}
        second = {n: pair[1] for n, pair in cuts.items()}
        marked = self.phase == "virtual"
        numbers = self._numbers(self.known), self._numbers(self.made)
        old = self.flows.before(Visit(self.known, numbers[0], marked, first, trips, pieces))
        new = self.flows.behind(Visit(self.made, numbers[1], marked, second, trips, {}), old.values)
        for name in {**old.flow.outputs, **new.outputs}:
            if old.flow.outputs.get(name) != new.outputs.get(name):
                return new.stranger, name
        return None

    def _numbers(self, listing: Listing) -> dict[int, int]:
        """Return the label of a loop before and after the passes, by its number in the listing."""
        if self.phase == "virtual":
            return {loop.loop: loop_number(loop.op) for loop in listing.loops}
        return {loop.loop: loop.loop for loop in listing.loops}

    def _pieces(self) -> dict[int, list[Node]]:
        """Return the transfers that passes split, with their pieces.

        nc-split-loads leaves loads in loops whole, and nc-split-transfers splits all that can be
        split. A whole load in straight-line code may come from a loop that was pipelined, or
        nc-split-loads has not run.
        """
        if self.phase != "virtual":
            return {} if self.made.pieces else self.known.pieces
        left = {loop_number(loop.op) for loop in self.made.loops}
        numbers = self._numbers(self.known)
        return {
            place: parts
            for place, parts in self.known.pieces.items()
            if not any(numbers[n] in left for n in parts[0].inside)
        }

    def _cuts(self) -> dict[int, tuple[Cut, Cut]]:
        """Return the skipped iterations of each loop before, and of its replacement after."""
        before, behind = self._numbers(self.known), self._numbers(self.made)
        trips = {before[loop.loop]: loop.trip_count for loop in self.known.loops}
        kinds: dict[int, set[tuple[int, int]]] = {}
        for loop in self.made.loops:
            kinds.setdefault(behind[loop.loop], set()).add((loop.trip_count, step_of(loop.op)))
        out: dict[int, tuple[Cut, Cut]] = {}
        for number, found in kinds.items():
            count, step = min(found)
            around = trips.get(number, 0) - count * step  # before and after the kernel
            kept = max(_ITERATIONS, around // step + 1)
            if len(found) == 1 and around >= 0 and kept < count:
                first = around + (kept * step - around + 1) // 2
                left_out = (count - kept) * step
                out[number] = (Cut(first, left_out), Cut(first, left_out, step))
        return out
