"""tile-pad-axes: pad dimensions that do not divide over partitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.constants import constant_array, constant_op
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.dtypes import is_float
from neuronir.dialects.tile.interface import Tiling, tiling_of
from neuronir.dialects.tile.ops import MaskOp
from neuronir.dialects.tile.rules import ELEMENTWISE, contracting, shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.lowering.conversion.special import makes_special
from neuronir.passes.statistics import record
from neuronir.passes.tile.awkward import Dim, padded_sizes
from neuronir.passes.tile.fit import programs
from neuronir.passes.tile.fuse import machine_of
from neuronir.passes.tile.long_rows import mark_margins
from neuronir.passes.tile.numbers import number_of
from neuronir.passes.tile.pad_rows import pad_rows
from neuronir.passes.tile.padding_values import UNKNOWN, of_elements, of_reduction
from neuronir.passes.tile.plugins import load_rules
from neuronir.passes.tile.retile import retile
from neuronir.passes.tile.whole import MARK


@dataclass(frozen=True)
class TilePadAxesPass(ModulePass):
    """Pad dimensions whose sizes do not divide over the partitions, if dots need them there.

    A dimension of 197 tokens becomes one of 198, in two digits of 99 partitions. Arguments are
    padded with zeros during their loads, and results are stored without padding. Reductions read
    only the original elements. The padding of a contracted operand of a dot is set to 0. So is
    padding that an op could make infinite or NaN.

    Rows of batched dots that are reduced, such as the 49 rows of attention in windows, are padded
    to 64 or 32, so that several dots of the batch are on all partitions. The padding ends behind
    the next dots.

    Pads of an argument that is one long row, and slices of a long row, are marked as parts of
    transfers.
    """

    name = "tile-pad-axes"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        load_rules()
        machine = machine_of(op, self.target, self.name)
        for function in programs(op):
            record(self.name, "long rows", mark_margins(function.body.block, machine.partitions))
            pad_block(function.body.block, machine)
            pad_rows(function.body.block, machine)


def pad_block(block: Block, machine: Machine) -> None:
    """Pad the dimensions of a function's block that are awkward for a machine."""
    sizes = padded_sizes(block, machine)
    if not sizes:
        return
    padder, ops = _Padder(sizes), list(block.ops)
    for argument in block.args:
        assert block.first_op is not None
        padder.argument(argument, block.first_op)
    for op in ops:
        padder.op(op)
    for op in reversed(list(block.ops)):
        erase_dead(op)


class _Padder:
    """Rewrites ops on padded values.

    `numbers` has the value of the padding along a dimension of a new value, where no other
    dimension is padded. Other padding, including the corners between padded dimensions, has unknown
    finite values.
    """

    def __init__(self, sizes: Mapping[Dim, int]) -> None:
        self.sizes = sizes
        self.new: dict[SSAValue, SSAValue] = {}
        self.numbers: dict[Dim, float] = {}

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """Return the padded shape of an old value."""
        return tuple(self.sizes.get((value, d), n) for d, n in enumerate(shape_of(value)))

    def along(self, value: SSAValue) -> list[int]:
        """Return the padded dimensions of an old value."""
        if not isinstance(value.type, TensorType):
            return []
        return [d for d in range(len(shape_of(value))) if (value, d) in self.sizes]

    def argument(self, value: SSAValue, first: Operation) -> None:
        """Pad an argument with zeros, as part of its loads."""
        if not self.along(value):
            return
        build = Emitter(first)
        old, new = shape_of(value), self.shape(value)
        high = [m - n for n, m in zip(old, new, strict=True)]
        made = build.pad(value, build.scalar(0, element(value)), [0] * len(old), high)
        assert isinstance(made.owner, Operation)
        made.owner.attributes[MARK] = UnitAttr()
        self._set(value, made, dict.fromkeys(self.along(value), 0.0))

    def _set(self, old: SSAValue, new: SSAValue, numbers: Mapping[int, float]) -> None:
        self.new[old] = new
        if not self.along(old):
            old.replace_all_uses_with(new)
        self.numbers.update({(new, d): n for d, n in numbers.items()})
        record("tile-pad-axes", "values")

    def op(self, op: Operation) -> None:
        """Rewrite an op; an op without a tiling reads values without padding."""
        wide = any(self.along(v) for v in (*op.operands, *op.results))
        if not wide:
            return
        tiling = tiling_of(op)
        if op.name == "hlo.tuple" or not op.results or tiling is None:
            self._store(op)
            return
        (result,) = op.results
        if op.name == "hlo.constant":
            high = [(0, m - n) for n, m in zip(shape_of(result), self.shape(result), strict=True)]
            array = np.pad(constant_array(op), high)
            constant = constant_op(array, element=element(result))
            constant.location = op.location
            self._insert(op, constant)
            self._set(result, constant.results[0], dict.fromkeys(self.along(result), 0.0))
            return
        operands = [self.new.get(v, v) for v in op.operands]
        if op.name == "hlo.reduce":
            operands[0] = self._cut(op, operands[0])
        elif op.name == "hlo.dot":
            operands = self._contracted(op, operands)
        new = retile(op, operands, self.shape(result))
        self._insert(op, new)
        numbers = self._numbers(op, new, tiling)
        self._set(result, self._finite(op, new.results[0], numbers), numbers)

    def _insert(self, op: Operation, new: Operation) -> None:
        assert op.parent is not None
        op.parent.insert_op_before(new, op)

    def _store(self, op: Operation) -> None:
        """Let a terminator or a tuple read values without padding, which are stored."""
        build = Emitter(op)
        for i, v in enumerate(op.operands):
            if self.along(v) and not isinstance(v, BlockArgument):
                shape = shape_of(v)
                made = build.slice(self.new[v], [0] * len(shape), shape)
                assert isinstance(made.owner, Operation)
                made.owner.attributes[MARK] = UnitAttr()
                op.operands[i] = made

    def _cut(self, op: Operation, value: SSAValue) -> SSAValue:
        """Return a reduced operand without the padding along the reduced dimensions."""
        old = shape_of(op.operands[0])
        limits = list(shape_of(value))
        for d in ints(op, "dimensions"):
            limits[d] = old[d]
        made = Emitter(op).slice(value, [0] * len(limits), limits)
        for d in range(len(limits)):
            number = self.numbers.get((value, d))
            if number is not None and shape_of(made)[d] == shape_of(value)[d]:
                self.numbers[made, d] = number
        return made

    def _contracted(self, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the operands of a dot, at least one of which has zeros as padding along the
        contracted dimensions.
        """
        out = list(operands)
        for pair in zip(*contracting(op), strict=True):
            if (op.operands[0], pair[0]) not in self.sizes:
                continue
            known = [self.numbers.get((v, d)) for v, d in zip(out, pair, strict=True)]
            if 0.0 in known:
                continue
            which = 0 if prod(shape_of(out[0])) < prod(shape_of(out[1])) else 1
            kept = shape_of(op.operands[which])[pair[which]]
            out[which] = self._masked(op, out[which], pair[which], kept)
        return out

    def _masked(self, op: Operation, value: SSAValue, d: int, kept: int) -> SSAValue:
        new = MaskOp.make(value, d, kept, 0.0)
        new.location = op.location
        self._insert(op, new)
        for e in range(len(shape_of(value))):
            number = self.numbers.get((value, e))
            if number is not None:
                self.numbers[new.result, e] = number
        self.numbers[new.result, d] = 0.0
        return new.result

    def _finite(self, op: Operation, value: SSAValue, numbers: dict[int, float]) -> SSAValue:
        """Return a value with zeros where its padding may be infinite or NaN."""
        (result,) = op.results
        makes = makes_special(op) or op.name in UNKNOWN
        along = self.along(result)
        doubtful = [
            d for d in along if (makes if (n := numbers.get(d)) is None else not isfinite(n))
        ]
        if makes and len(along) > 1 and not doubtful:
            doubtful = along[-1:]  # corners
        if not is_float(element(result)):
            doubtful = []
        for d in doubtful:
            value = self._masked(op, value, d, shape_of(result)[d])
            numbers[d] = 0.0
        return value

    # what pads results

    def _numbers(self, op: Operation, new: Operation, tiling: Tiling) -> dict[int, float]:
        (old,) = op.results
        found: dict[int, float] = {}
        for d in self.along(old):
            number = self._number(op, new, tiling, d)
            if number is not None:
                found[d] = number
        return found

    def _number(self, op: Operation, new: Operation, tiling: Tiling, d: int) -> float | None:
        """Return the value of the padding along a dimension of a result; None if it is not one
        known number.
        """
        if tiling.regroups:
            return self._of_view(op, new, d)
        sides = [
            self._of_operand(v, needs.index(d) if d in needs else None)
            for v, needs in zip(new.operands, tiling.operands, strict=True)
        ]
        if op.name == "hlo.dot":
            return 0.0 if self._no_products(op, new, sides) else None
        if op.name == "hlo.reduce":
            return of_reduction(op, *sides)
        if op.name in ("hlo.broadcast", "hlo.transpose", "hlo.slice"):
            return sides[0]
        numbers = [n for n in sides if n is not None]
        if op.name not in ELEMENTWISE or len(numbers) < len(sides):
            return None
        return of_elements(op, numbers)

    def _no_products(self, op: Operation, new: Operation, sides: Sequence[float | None]) -> bool:
        """Return whether a dot multiplies the padding of a free or batch dimension with zeros
        only.
        """
        for which, number in enumerate(sides):
            if number != 0.0:
                continue
            pairs = zip(*contracting(op), strict=True)
            wide = [p for p in pairs if (op.operands[0], p[0]) in self.sizes]
            other = 1 - which
            if all(self.numbers.get((new.operands[other], p[other])) == 0.0 for p in wide):
                return True
        return False

    def _of_operand(self, value: SSAValue, d: int | None) -> float | None:
        uniform = number_of(value)
        if uniform is not None or d is None:
            return uniform
        return self.numbers.get((value, d))

    def _of_view(self, op: Operation, new: Operation, d: int) -> float | None:
        """Return the value of the padding along a dimension that a reshape preserves."""
        source, shape = op.operands[0], shape_of(op.results[0])
        inner = prod(shape[d + 1 :])
        before = shape_of(source)
        for e in self.along(source):
            if before[e] == shape[d] and prod(before[e + 1 :]) == inner:
                return self.numbers.get((new.operands[0], e))
        return number_of(new.operands[0])
