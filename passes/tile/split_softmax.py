"""tile-split-softmax: compute the sums of a softmax block by block, each with its own maximum."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, gcd, inf, prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, ModuleOp
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.passes import ModulePass

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.ops import EmptyOp
from neuronir.dialects.tile.rules import ELEMENTWISE, combiner, shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, is_splat_of, tensor
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.statistics import record
from neuronir.passes.tile.expand_composites import separate_views
from neuronir.passes.tile.fit import programs
from neuronir.passes.tile.fuse import machine_of
from neuronir.passes.tile.group import is_cast, is_view, nbytes, root_of
from neuronir.passes.tile.lift_slices import lift_slices, slice_arguments
from neuronir.passes.tile.retile import slice_properties
from neuronir.passes.tile.split_slices import split_slices
from neuronir.passes.tile.whole import whole

SHARE = 0.75
"""Share of SBUF for blocks of columns."""
ROOM = 0.8
"""Share of SBUF for whole rows and the operand of their columns."""
WIDTH = 4
"""Bytes of an element of the softmax."""
STAYS = 1 / 8
"""Share of SBUF up to which all rows, their exponentials and what follows from them stay there."""
LEAST_DIGIT = 8
"""Minimum of partitions over which elements of a row divide."""
LEAST_BLOCKS = 4
"""Minimum of blocks."""


@dataclass(frozen=True)
class TileSplitSoftmaxPass(ModulePass):
    """Compute the sums of a softmax in blocks, if a dot computes its rows and they do not fit.

    The sum of exp(x - max(x)) needs the maximum of whole rows, so a program would store x, and load
    it again. Blocks of columns, each with its own maximum m, need no other block:

        s = sum over blocks of exp(m - max(x)) * sum(exp(x - m))

    A loop over blocks computes a block of x by a dot, its maximum, and its sum. x is only stored if
    it has other readers. If these need whole rows, the softmax is not split, because they can be
    loaded for both. The dots of a gradient of a cross-entropy need none: a loop over columns loads
    x, and computes the exponentials again with the maximum of whole rows.
    """

    name = "tile-split-softmax"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op, self.target, self.name)
        for function in programs(op):
            block = function.body.block
            count = 0
            for one in list(block.ops):
                if one.parent is block and (softmax := _softmax(one, machine)) is not None:
                    softmax.split()
                    count += 1
            record(self.name, "sums computed in blocks", count)
            if count:
                split_slices(block)
                lift_slices(block)
                slice_arguments(block)
                separate_views(block)
                for one in reversed(list(block.ops)):
                    erase_dead(one)


@dataclass(frozen=True)
class _Softmax:
    """The maximum and the sum of the exponentials of rows `x`: exp(x + shift) or exp(x - shift).

    `shifted` is that sum or difference; `shift` is broadcast along the last dimension.
    """

    x: SSAValue
    shifted: Operation
    maximum: Operation
    total: Operation
    shift: SSAValue
    columns: int

    def split(self) -> None:
        """Replace the maximum and the sum by those of blocks."""
        behind = cast(Operation, self.x.owner).next_op
        assert behind is not None
        build = Emitter(behind, source=self.total)
        blocks = list(self._blocks(build))
        found = [self._of_block(build, block) for block in blocks]
        maxima = _joined(build, [m for m, _ in found])
        sums = _joined(build, [s for _, s in found])
        last = [len(shape_of(maxima)) - 1]
        self.maximum.results[0].replace_all_uses_with(build.reduce(maxima, -inf, last, "maximum"))
        build = Emitter(self.total)
        shape = shape_of(maxima)
        shift = build.broadcast(self.shift, shape, range(len(shape) - 1))
        factors = build.unary(
            "exponential", build.binary(self.shifted.name.removeprefix("hlo."), maxima, shift)
        )
        total = build.reduce(build.binary("multiply", sums, factors), 0.0, last, "add")
        self.total.results[0].replace_all_uses_with(total)
        erase_dead(self.total)
        erase_dead(self.maximum)

    def others(self) -> list[Use]:
        """Return the uses of x that blocks do not replace."""
        exponential = self.total.operands[0]
        alone = self.shifted.results[0].has_one_use() and exponential.has_one_use()
        replaced = [self.maximum, self.shifted] if alone else [self.maximum]
        return [use for use in self.x.uses if use.operation not in replaced]

    def pays(self, machine: Machine) -> bool:
        """Return whether blocks save traffic.

        If other ops read all of x again, whole rows can be loaded with them, once, unless their
        elements do not divide over partitions. If several dots read what they compute, as in a
        gradient, these need tiles of columns, and if the rows are computed with them, they need not
        be stored in between, unless they stay in SBUF.
        """
        if len(_dots(self.x, {self.maximum, self.total})) > 1:
            return nbytes(self.x) / machine.partitions > STAYS * machine.sbuf_partition_bytes
        if not self.total.operands[0].has_one_use():
            return False
        size = shape_of(self.x)[-1]
        again = any(not whole(use.operation) for use in self.others())
        return not again or gcd(size, LEAST_DIGIT) < LEAST_DIGIT

    def _blocks(self, build: Emitter) -> Iterator[SSAValue]:
        """Yield x as whole blocks [..., blocks, columns], and as the columns after them."""
        *rows, size = shape_of(self.x)
        even = size - size % self.columns
        parts = [self.x]
        if even < size:
            others = self.others()
            zeros = [0] * len(rows)
            parts = [
                build.slice(self.x, [*zeros, first], [*rows, end])
                for first, end in ((0, even), (even, size))
            ]
            if others:
                array = _assembled(build, parts)
                self.x.replace_uses_with_if(array, lambda use: use in others)
        yield build.reshape(parts[0], [*rows, even // self.columns, self.columns])
        for rest in parts[1:]:
            yield build.reshape(rest, [*rows, 1, size - even])

    def _of_block(self, build: Emitter, block: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Return the maxima of blocks, and the sums of their exponentials without it.

        The sum of a block with an infinite maximum is 0 or infinite, without NaN; what its
        factor is then decides what the whole sum is.
        """
        shape = shape_of(block)
        last = [len(shape) - 1]
        largest = build.reduce(block, -inf, last, "maximum")
        zero = build.fill_like(0.0, largest)
        finite = build.compare_number(build.unary("abs", largest), inf, "LT")
        centre = build.unary("negate", build.select(finite, largest, zero))
        wide = build.broadcast(centre, shape, range(len(shape) - 1))
        values = build.unary("exponential", build.binary("add", block, wide))
        return largest, build.reduce(values, 0.0, last, "add")


def _assembled(build: Emitter, parts: Sequence[SSAValue]) -> SSAValue:
    """Return columns side by side in HBM."""
    *rows, _ = shape_of(parts[0])
    columns = sum(shape_of(part)[-1] for part in parts)
    type_ = tensor((*rows, columns), element(parts[0]))
    array: SSAValue = build.insert(EmptyOp.make("hbm", type_)).results[0]
    at = 0
    for part in parts:
        new = InsertSliceOp.build(
            operands=[part, array, [], [], []],
            result_types=[type_],
            properties=slice_properties([*(0 for _ in rows), at], shape_of(part)),
        )
        array = build.insert(new).results[0]
        at += shape_of(part)[-1]
    return array


def _joined(build: Emitter, parts: Sequence[SSAValue]) -> SSAValue:
    return build.concatenate(parts, len(shape_of(parts[0])) - 1) if len(parts) > 1 else parts[0]


def _softmax(total: Operation, machine: Machine) -> _Softmax | None:
    """Return the softmax of which an op is the sum; None if it should not be split."""
    if not _reduces_rows(total, "hlo.add") or not is_splat_of(total.operands[1], 0.0):
        return None
    e = total.operands[0].owner
    shifted = e.operands[0].owner if isinstance(e, Operation) and e.operands else None
    if not isinstance(e, Operation) or e.name != "hlo.exponential":
        return None
    if not isinstance(shifted, Operation) or shifted.name not in ("hlo.add", "hlo.subtract"):
        return None
    x, wide = shifted.operands
    shape = shape_of(x)
    if not isinstance(wide.owner, Operation) or wide.owner.name != "hlo.broadcast":
        return None
    if ints(wide.owner, "dimensions") != tuple(range(len(shape) - 1)):
        return None
    shift = wide.owner.operands[0]
    if shape_of(shift) != shape[:-1]:
        return None
    dot, maximum = _product(x), _maximum(x, total)
    columns = 0 if dot is None else _even(_columns(dot, machine), shape[-1], machine)
    if maximum is None or not columns:
        return None
    found = _Softmax(x, shifted, maximum, total, shift, columns)
    return found if found.pays(machine) else None


def _reduces_rows(op: Operation, combine: str) -> bool:
    """Return whether an op reduces the last dimension of fp32 values by another op."""
    if op.name != "hlo.reduce" or len(op.operands) != 2 or combiner(op) != combine:
        return False
    shape = shape_of(op.operands[0])
    return ints(op, "dimensions") == (len(shape) - 1,) and isinstance(
        element(op.operands[0]), Float32Type
    )


def _product(value: SSAValue) -> Operation | None:
    """Return the dot from which a value is computed, element by element; None if there is none."""
    while isinstance(value.owner, Operation) and value.owner.name != "hlo.dot":
        op = value.owner
        if op.name not in ELEMENTWISE:
            return None
        computed = [
            v for v in op.operands if isinstance(v.owner, Operation) and not is_view(v.owner)
        ]
        if len(computed) != 1:
            return None
        (value,) = computed
    return value.owner if isinstance(value.owner, Operation) else None


def _dots(value: SSAValue, done: set[Operation]) -> list[Operation]:
    """Return the dots that read what other ops than the `done` ones compute from a value, element
    by element.
    """
    found: list[Operation] = []
    for use in value.uses:
        op = use.operation
        if op in done:
            continue
        done.add(op)
        if op.name == "hlo.dot":
            found.append(op)
        elif op.name in (*ELEMENTWISE, "hlo.transpose", "hlo.reshape"):
            found += _dots(op.results[0], done)
    return found


def _maximum(x: SSAValue, total: Operation) -> Operation | None:
    """Return the reduction that computes the maxima of rows before their sums, if there is one."""
    block: Block | None = total.parent
    for use in x.uses:
        op: Operation = use.operation
        if op.parent is block and _reduces_rows(op, "hlo.maximum"):
            if is_splat_of(op.operands[1], -inf) and op.is_before_in_block(total):
                return op
    return None


def _columns(dot: Operation, machine: Machine) -> int:
    """Return the columns of a block of a dot's result; 0 if whole rows fit, or if there would be
    too few blocks.

    Whole rows fit in a loop over rows beside the operand of the columns. If there are no more rows
    than partitions, columns are the only loop.
    """
    *rows, size = shape_of(dot.results[0])
    partition, partitions = machine.sbuf_partition_bytes, machine.partitions
    # twice, because an iteration begins while another one ends: rows of x and of its exponentials
    together = 2 * 2 * WIDTH * size + nbytes(dot.operands[1]) // partitions
    if prod(rows) > partitions and together <= ROOM * partition:
        return 0
    # as above: a column of x and of its exponentials, and of the operand, which is also converted
    each = 2 * 2 * WIDTH * ceil(prod(rows) / partitions)
    operand = dot.operands[1]
    maker = operand.owner
    converted = isinstance(maker, Operation) and is_cast(maker)
    loaded = nbytes(operand) + (nbytes(root_of(operand)) if converted else 0)
    each += 2 * ceil(loaded / size / partitions)
    bank = machine.psum_bank_bytes // WIDTH
    banks = max(1, int(SHARE * partition) // each // bank)
    columns = bank << banks.bit_length() - 1
    return columns if size >= LEAST_BLOCKS * columns else 0


def _even(columns: int, size: int, machine: Machine) -> int:
    """Return the largest number of columns up to `columns`, of a bank at least, that divides rows
    and fills partitions; `columns` if there is none.

    Blocks of one size need no ops for a last, shorter one, nor an array in which x is assembled for
    its other readers.
    """
    partitions, bank = machine.partitions, machine.psum_bank_bytes // WIDTH
    even = [c for c in range(partitions, columns + 1, partitions) if size % c == 0]
    return even[-1] if even and even[-1] >= bank else columns
