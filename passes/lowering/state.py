"""Hold the state of a lowering: values by SSA value, the converter, and layout choices."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.constants.bound import Constants
from neuronir.passes.lowering.conversion.convert import Converter
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.fault import NoLayout
from neuronir.passes.lowering.layouts.cover import covered, in_order_of, remaining
from neuronir.passes.lowering.layouts.demand import DEPTH, Demand, demand
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    dense,
    dim_atoms,
    divisor,
    join,
    merge,
    split_at,
    tile,
    tile_width,
)
from neuronir.passes.lowering.layouts.types import known_dtype
from neuronir.passes.lowering.layouts.values import Partition, Value
from neuronir.passes.lowering.records import Loops, Norms, Products, Results
from neuronir.passes.statistics import gains, record

Rule = Callable[["Lowering", Operation], None]


class Lowerer(NamedTuple):
    """How ops and blocks are lowered, for rules that lower the ops inside others."""

    op: Rule
    block: Callable[["Lowering", Block], None]


VIEWS = ("hlo.constant", "hlo.broadcast", "hlo.reshape", "hlo.transpose", "hlo.slice")
"""Ops that are lowered to views without any instruction."""


class Lowering:
    """Lowers the ops of one function, in order, into an emitter."""

    def __init__(self, converter: Converter, lower: Lowerer, lookahead: int = DEPTH) -> None:
        self.converter = converter
        self.lower = lower
        self.lookahead = lookahead
        self.values: dict[SSAValue, Value] = {}
        self.done: set[Operation] = set()
        self.results = Results()
        self.loops = Loops()
        self.norms = Norms()
        self.products = Products()
        self._demands: dict[SSAValue, Demand] = {}

    @property
    def machine(self) -> Machine:
        """The machine for which the function is lowered."""
        return self.converter.machine

    @property
    def emitter(self) -> Emitter:
        """The emitter of instructions."""
        return self.converter.emitter

    @property
    def constants(self) -> Constants:
        """The constants of the program."""
        return self.converter.constants

    def value(self, ssa: SSAValue) -> Value:
        """Return the value of `ssa`."""
        return self.values[ssa]

    def available(self, ssa: SSAValue) -> Value | None:
        """Return the value of `ssa`, created now if that takes no instruction; None if it comes
        later.

        Constants and views of available values take no instruction.
        """
        if ssa in self.values:
            return self.values[ssa]
        op = ssa.owner
        if not isinstance(op, Operation) or op in self.done or op.name not in VIEWS:
            return None
        if any(self.available(operand) is None for operand in op.operands):
            return None
        here = self.emitter.source
        self.lower.op(self, op)
        self.emitter.source = here
        self.done.add(op)
        return self.values.get(ssa)

    def set(self, ssa: SSAValue, value: Value) -> None:
        """Record the value of `ssa`."""
        self.values[ssa] = value

    def dtype(self, ssa: SSAValue) -> DType:
        """Return the data type of a tensor value, checked against the machine."""
        return known_dtype(ssa, self.machine)

    def demand(self, ssa: SSAValue) -> Demand:
        """Return the layouts that the users of `ssa` want."""
        if ssa not in self._demands:
            limit, across = self.machine.partitions, self.norms.across
            found = self._demands[ssa] = demand(ssa, limit, across, self.lookahead)
            if gains() and found.best() != demand(ssa, limit, across, 1).best():
                record("lower-hlo-to-nc", "layouts that an op behind the next one wants")
        return self._demands[ssa]

    # layouts

    def default_partition(self, support: Sequence[Atom], avoid: Sequence[Atom] = ()) -> Partition:
        """Return the default layout of a value: its outermost factors on partitions.

        Each partition then holds one contiguous run; atoms of `avoid` stay on the free axis.
        """
        limit = self.machine.partitions
        atoms = _apart(support, avoid)
        if not atoms:
            return ()
        whole = max(atoms, key=lambda a: a.size)
        if avoid or len(atoms) > 1:
            if whole.size <= limit:
                return ((whole, 1),)
            return ((tile(whole.size, whole.stride, tile_width(whole.size, limit))[1], 1),)
        a = atoms[0]
        width = a.size if a.size <= limit else divisor(a.size, limit)
        if a.size > limit and 4 * width < limit:
            width = tile_width(a.size, limit)
            return ((tile(a.size, a.stride, width)[1], 1),)
        return ((atom(width, a.stride * (a.size // width)), 1),)

    def partition_of(self, form: Form) -> Partition:
        """Return the layout of a form, to create others like it."""
        return join(form.partition)

    def allocate(
        self, support: Sequence[Atom], partition: Partition, dtype: DType, order: Form | None = None
    ) -> Form:
        """Allocate an SBUF form with that layout; the free axis follows `order` if given."""
        mine = tuple(
            (b, s * (b.stride // a.stride))
            for a, s in partition
            for b in (split_at(a, {c for u in support for c in (u.stride, u.end)}) or (a,))
            if covered(support, b)
        )
        free = remaining(support, [a for a, _ in mine])
        if free is None:
            raise NoLayout("a layout does not divide a value")
        atoms = list(free)
        if order is not None:
            atoms = in_order_of(atoms, order)
        elements = 1
        for a in atoms:
            elements *= a.size
        span = sum((a.size - 1) * s for a, s in mine) + 1
        copies = 1
        if not mine and partition:
            span = copies = sum((a.size - 1) * s for a, s in partition) + 1
        buffer = self.emitter.sbuf(span, elements, dtype)
        return Form(buffer, mine, dense(atoms), copies=copies)

    def shape(self, ssa: SSAValue) -> tuple[int, ...]:
        """Return the static shape of a tensor value."""
        return shape_of(ssa)


def _apart(support: Sequence[Atom], avoid: Sequence[Atom]) -> list[Atom]:
    """Return the factors of `support` that do not overlap `avoid`, neighbours joined."""
    cuts = {c for a in avoid for c in (a.stride, a.end)}
    parts = [a for s in support for a in split_at(s, cuts) or (s,)]
    return list(
        merge(a for a in parts if not any(v.stride < a.end and a.stride < v.end for v in avoid))
    )


def union(supports: Sequence[Sequence[Atom]]) -> tuple[Atom, ...]:
    """Return the atoms along which any of several values varies, outermost first."""
    cuts = {c for s in supports for a in s for c in (a.stride, a.end)}
    parts: set[Atom] = set()
    for s in supports:
        for a in s:
            parts.update(split_at(a, cuts) or (a,))
    return merge(sorted(parts, key=lambda a: -a.stride))


def whole(ssa: SSAValue) -> tuple[Atom, ...]:
    """Return the atoms of all dimensions of a value."""
    shape = shape_of(ssa)
    return merge(dim_atoms(shape, range(len(shape))))
