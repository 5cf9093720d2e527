"""hlo-center-norms: subtract row means from constants whose sums only layer norms read."""

from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import ints as array_ints
from neuronir.dialects.hlo.constants import lazy_constant
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.resources import Magnitudes, is_large
from neuronir.dialects.support.lazy import LazyArray
from neuronir.passes.hlo.support.bands import row_sums
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, ints, producer, shape
from neuronir.passes.hlo.support.walk import blocks
from neuronir.passes.statistics import record

Numbers = NDArray[np.float32]
Place = tuple[Operation, int]
"""An operand: the op that reads it, and its number."""

_CENTRED = "centred"
"""Marks a norm whose rows have a zero mean except for the terms that other norms contribute."""
_PRODUCTS = ("hlo.dot", "hlo.convolution")
_SUMS = ("hlo.add", "hlo.subtract")
_PARTS = ("hlo.reshape", "hlo.slice", "hlo.concatenate")


@dataclass
class Stream:
    """Values that row sums pass through.

    `norms` read them, and `constants` make them, each with the dimension along the rows.
    """

    norms: list[CompositeOp] = field(default_factory=list)
    constants: list[tuple[Place, int]] = field(default_factory=list)


def _rows_of(op: Operation) -> bool:
    """Return whether an op is a float32 layer norm along the last dimension."""
    if not isinstance(op, CompositeOp) or op.kind.data != "layer_norm":
        return False
    axes = array_ints(op.params.data["axes"])
    return axes == (len(shape(op.results[0])) - 1,) and element(op.operands[0]) == f32


def stream_of(value: SSAValue) -> Stream | None:
    """Return all terms of the sum `value` and all sums that contain it.

    Returns None if a user depends on the mean of a row, or if a term is not a sum of constants.
    """
    stream, seen = Stream(), set[SSAValue]()
    queue = [value]
    while queue:
        value = queue.pop()
        if value in seen:
            continue
        seen.add(value)
        before, after = _made_of(value, stream), _read_by(value, stream)
        if before is None or after is None:
            return None
        queue += [*before, *after]
    return stream


def _read_by(value: SSAValue, stream: Stream) -> list[SSAValue] | None:
    """Return the sums and slices of whole rows that read a value."""
    found: list[SSAValue] = []
    for use in value.uses:
        op = use.operation
        if _rows_of(op) and use.index == 0 and sum(v is value for v in op.operands) == 1:
            stream.norms.append(cast(CompositeOp, op))
        elif op.name in _SUMS or _whole_rows(op):
            found.append(op.results[0])
        else:
            return None
    return found


def _whole_rows(op: Operation) -> bool:
    """Return whether an op keeps rows intact, so that it changes only dimensions before the
    last.
    """
    if op.name not in _PARTS:
        return False
    result = shape(op.results[0])
    if not result or any(shape(v)[-1:] != result[-1:] for v in op.operands):
        return False
    return op.name != "hlo.concatenate" or integer(op, "dimension") != len(result) - 1


def _made_of(value: SSAValue, stream: Stream) -> list[SSAValue] | None:
    """Return the operands that make up a value; constants are added to `stream`."""
    op = value.owner
    if not isinstance(op, Operation) or element(value) != f32 or not shape(value):
        return None
    if op.name in _SUMS or _whole_rows(op):
        found: list[SSAValue] = []
        for i, operand in enumerate(op.operands):
            place = _vectors((op, i))
            if place is None:
                found.append(operand)
            else:
                stream.constants.append(place)
        return found
    place = _offset(op) if _rows_of(op) else _weights(op)
    if place is None:
        return None
    stream.constants.append(place)
    return []


def _offset(op: Operation) -> tuple[Place, int] | None:
    """Return the constant offset of a layer norm."""
    offset = cast(BoolAttr, cast(CompositeOp, op).params.data["has_offset"])
    index = len(op.operands) - 1
    if not offset.value.data or producer(op.operands[index], "constant") is None:
        return None
    return (op, index), 0


def _vectors(place: Place) -> tuple[Place, int] | None:
    """Return a constant operand, or a broadcast of one, that varies along the rows."""
    op, index = place
    value = op.operands[index]
    if producer(value, "constant") is not None:
        return place, len(shape(value)) - 1
    spread = producer(value, "broadcast")
    if spread is None or producer(spread.operands[0], "constant") is None:
        return None
    dimensions, last = ints(spread, "dimensions"), len(shape(value)) - 1
    if last not in dimensions or not value.has_one_use():
        return None
    return (spread, 0), dimensions.index(last)


def _weights(op: Operation) -> tuple[Place, int] | None:
    """Return the constant weights of a dot or a convolution whose columns are the row elements.

    Narrow weights stay: their centred values would not be exact in their type, and the digits of a
    looked up table are exact only together.
    """
    if len(op.operands) != 2 or producer(op.operands[1], "constant") is None:
        return None
    if element(op.operands[1]) != f32:
        return None
    last = len(shape(op.results[0])) - 1
    if op.name == "hlo.dot":
        taken = {*ints(op, "rhs_contracting_dims"), *ints(op, "rhs_batch_dims")}
        free = [d for d in range(len(shape(op.operands[1]))) if d not in taken]
        return ((op, 1), free[-1]) if free else None
    if op.name == "hlo.convolution" and integer(op, "output_feature_dim") == last:
        return (op, 1), integer(op, "kernel_output_feature_dim")
    return None


def _centred(place: Place, dimension: int) -> Numbers | LazyArray | None:
    """Subtract the means along a dimension from a constant; None if it is not finite.

    The result is lazy if it is large.
    """
    op, index = place
    given = producer(op.operands[index], "constant")
    assert given is not None
    array = lazy_constant(given)
    numbers = np.asarray(array).astype(np.float32, copy=False)
    means = _means(numbers, dimension)
    if not np.isfinite(means).all():
        return None
    if not is_large(numbers.nbytes):
        centred: Numbers = numbers - means
        return centred
    if isinstance(array, LazyArray) and array.recipe and array.dtype == np.float32:
        return array.less(means)
    return LazyArray.of(np.ascontiguousarray(numbers)).less(means)


def _means(numbers: Numbers, dimension: int) -> Numbers:
    """Return the means along a dimension, which stays with size 1."""
    if not is_large(numbers.nbytes) or dimension != numbers.ndim - 1:
        means = numbers.mean(axis=dimension, keepdims=True, dtype=np.float64)
        return cast(Numbers, means.astype(np.float32))
    numbers, seen = np.ascontiguousarray(numbers), Magnitudes(least=False)
    length = numbers.shape[-1]
    with np.errstate(all="ignore"):  # of infinities, which the caller detects in the means
        means = row_sums(numbers.reshape(-1, length), seen) / length
    seen.found(numbers)  # evaluated during lowering
    return cast(Numbers, means.astype(np.float32).reshape(*numbers.shape[:-1], 1))


def center(norm: CompositeOp) -> int:
    """Subtract means from the operands of all norms that read a sum, and return their number."""
    stream = stream_of(norm.operands[0])
    if stream is None:
        return 0
    made = [(place, _centred(place, dimension)) for place, dimension in stream.constants]
    if any(array is None for _, array in made):
        return 0
    for (op, index), array in made:
        assert array is not None
        op.operands[index] = Emitter(op).constant(array, owned=True)
    for found in stream.norms:
        params = {**found.params.data, _CENTRED: BoolAttr.from_bool(True)}
        found.properties["params"] = DictionaryAttr(params)
    return len(stream.norms)


def parts_of(op: CompositeOp) -> list[CompositeOp] | None:
    """Return the norms whose row means must be removed so that a norm reads rows of mean zero.

    The mean is zero up to rounding. Returns None if the rows have terms that this pass does not
    understand.
    """
    if _CENTRED not in op.params.data:
        return None
    found: list[CompositeOp] = []
    queue, seen = [op.operands[0]], set[SSAValue]()
    while queue:
        value = queue.pop()
        made = value.owner
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            if _adds(use.operation):
                queue.append(use.operation.results[0])
            elif not _rows_of(use.operation) or use.index:
                return None
        if not isinstance(made, Operation):
            return None
        if _adds(made):
            queue += [v for v in made.operands if not _is_constant(v)]
        elif _rows_of(made):
            found.append(cast(CompositeOp, made))
        elif made.name not in _PRODUCTS:
            return None
    return found


def forget_centred(block: Block) -> None:
    """Remove marks that only distinguish the first of several equal layers from the others."""
    for op in block.ops:
        if isinstance(op, CompositeOp) and _CENTRED in op.params.data:
            params = {k: v for k, v in op.params.data.items() if k != _CENTRED}
            op.properties["params"] = DictionaryAttr(params)


def _adds(op: Operation) -> bool:
    """Return whether subtracting a mean from the operand of an op changes its result."""
    return op.name in (*_SUMS, "hlo.convert") or _whole_rows(op)


def _is_constant(value: SSAValue) -> bool:
    spread = producer(value, "broadcast")
    return producer(value if spread is None else spread.operands[0], "constant") is not None


def _center_block(block: Block) -> int:
    count = 0
    for op in block.ops:
        if _rows_of(op) and _CENTRED not in cast(CompositeOp, op).params.data:
            count += center(cast(CompositeOp, op))
    return count


@dataclass(frozen=True)
class HloCenterNormsPass(ModulePass):
    """Remove the mean of each row from the constants whose sums layer norms read.

    A layer norm subtracts the mean of its row, so a constant added to all elements of a row has no
    effect. If only layer norms read a sum (the residual stream of transformers that normalise
    before each block), and the sum consists of constants and of dots with constant weights, the
    pass subtracts the mean over the columns from each of these. The rows of the sum then have mean
    zero up to rounding. The norms are marked `centred` and need only the sum of squares.

    If another norm is part of the sum (transformers that normalise after each block), the mean of
    its offset is removed, and lowering removes the mean of its scaled value. Runs in fp32, before
    hlo-auto-cast.
    """

    name = "hlo-center-norms"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        record(self.name, "norms", sum(_center_block(block) for block in blocks(op)))
