"""Load arrays with padding around them, and store arrays without their padding.

The transfer itself performs `hlo.pad` of an array in HBM, and `hlo.slice` of a value that is only
stored to HBM. It moves the array box by box; each box is contiguous in the layout on the chip.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects.tensor import ExtractSliceOp
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.ops import ConvertLayoutOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.layouts.layout import Form, row_major, split_at
from neuronir.passes.lowering.layouts.natural import borders
from neuronir.passes.tile.lower.memory import copy, result_in_hbm, store_form, target_type, transfer
from neuronir.passes.tile.lower.staging import staged
from neuronir.passes.tile.lower.state import Lower, fill
from neuronir.passes.tile.lower.values import Padded
from neuronir.passes.tile.lower.views import slice_form
from neuronir.passes.tile.numbers import number_of
from neuronir.passes.tile.whole import trims


@dataclass(frozen=True)
class Box:
    """A box of an array: the first position and the number of positions of each dimension."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]


def boxes(
    form: Form, shape: Sequence[int], starts: Sequence[int], sizes: Sequence[int]
) -> Iterator[Box]:
    """Cut a box of an array into those that are contiguous in a copy of the array.

    A box that begins or ends within a digit of the layout is cut at the digit.
    """
    spans = [
        list(_spans(units, n, start, start + size))
        for units, n, start, size in zip(_units(form, shape), shape, starts, sizes, strict=True)
    ]
    for chosen in product(*spans):
        yield Box(tuple(first for first, _ in chosen), tuple(count for _, count in chosen))


def _units(form: Form, shape: Sequence[int]) -> list[list[int]]:
    """Return the steps of the digits of each dimension in a copy, largest first."""
    edges, strides = borders(shape), row_major(shape)
    units: list[set[int]] = [{1} for _ in shape]
    for whole in form.atoms():
        for a in split_at(whole, edges) or (whole,):
            for d, (stride, n) in enumerate(zip(strides, shape, strict=True)):
                if n > 1 and stride <= a.stride < stride * n:
                    units[d].add(a.stride // stride)
    return [sorted(u, reverse=True) for u in units]


def _spans(units: Sequence[int], size: int, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yield (first position, positions) of the parts of a range that are whole digits."""
    at = low
    while at < high:
        which = next(i for i, u in enumerate(units) if at % u == 0 and at + u <= high)
        unit, reach = units[which], units[which - 1] if which else size
        count = min((high - at) // unit, (reach - at % reach) // unit)
        yield at, count * unit
        at += count * unit


# loads


def defer_pad(state: Lower, op: Operation) -> bool:
    """Leave a pad of an array in HBM to the loads of its readers, if all of them can do it."""
    if op.name != "hlo.pad" or op.operands[0] not in state.memory:
        return False
    source, result = op.operands[0], op.results[0]
    if any(ints(op, "interior_padding")):
        return False
    number = number_of(op.operands[1])
    low = ints(op, "edge_padding_low")
    padded = [d for d, n in enumerate(shape_of(source)) if n != shape_of(result)[d]]
    if number is None or any(n < 0 for n in (*low, *ints(op, "edge_padding_high"))):
        return False
    if not _loaded_only(result, padded):
        return False
    state.padded[result] = Padded(state.memory[source], shape_of(source), low, number)
    return True


def _loaded_only(value: SSAValue, padded: Sequence[int]) -> bool:
    """Return whether all readers load a value, or slices of it that are whole where it is
    padded.
    """
    for use in value.uses:
        op = use.operation
        if isinstance(op, ExtractSliceOp):
            offsets, sizes = ints(op, "static_offsets"), ints(op, "static_sizes")
            if any(offsets[d] or sizes[d] != shape_of(value)[d] for d in padded):
                return False
            if not _loaded_only(op.result, padded):
                return False
        elif not isinstance(op, ConvertLayoutOp):
            return False
    return True


def slice_padded(state: Lower, op: ExtractSliceOp) -> None:
    """Record a slice of an array with deferred padding."""
    found = state.padded[op.source]
    sizes = [
        k if n == m else n
        for n, m, k in zip(found.shape, shape_of(op.source), shape_of(op.result), strict=True)
    ]
    form = slice_form(found.form, found.shape, sizes, state.indices.places(op))
    if form is None:
        raise NeuronError("NIR_TIL004", "a slice of an array in HBM is not contiguous")
    state.padded[op.result] = Padded(form, tuple(sizes), found.low, found.number)


def load_padded(state: Lower, op: ConvertLayoutOp) -> None:
    """Load an array into the middle of its padding."""
    found, shape = state.padded[op.source], shape_of(op.result)
    form = state.allocate(op.result)
    for edge in _edges(form, shape, found):
        fill(state, part(form, shape, edge), found.number)
    for box in boxes(form, shape, found.low, found.shape):
        starts = [first - low for first, low in zip(box.starts, found.low, strict=True)]
        chip = part(form, shape, box)
        memory = part(found.form, found.shape, Box(tuple(starts), box.sizes))
        apart = staged(state, chip, memory, state.dtype(op.result))
        transfer(state, apart or chip, memory, load=True)
        if apart is not None:
            copy(state, apart, chip)
    state.set(op.result, form)


def _edges(form: Form, shape: Sequence[int], found: Padded) -> Iterator[Box]:
    """Yield boxes that are contiguous in a copy and cover the padding, more of it if necessary.

    Instructions cannot start at any partition, so whole digits on partitions are covered.
    """
    for d, (low, n) in enumerate(zip(found.low, found.shape, strict=True)):
        reach = max(1, reach_on_partitions(form, shape, d))
        ranges = []
        if low:
            ranges.append((0, -(-low // reach) * reach))
        if low + n < shape[d]:
            ranges.append(((low + n) // reach * reach, shape[d]))
        for begin, end in ranges:
            starts, sizes = [0] * len(shape), list(shape)
            starts[d], sizes[d] = begin, end - begin
            yield from boxes(form, shape, starts, sizes)


def reach_on_partitions(form: Form, shape: Sequence[int], d: int) -> int:
    """Return the positions along a dimension up to the end of its digits on partitions; 0 if it has
    none there.
    """
    stride, edges = row_major(shape)[d], borders(shape)
    ends = [
        a.end // stride
        for whole, _ in form.partition
        for a in split_at(whole, edges) or (whole,)
        if stride <= a.stride < stride * shape[d]
    ]
    return max(ends, default=0)


# stores


def defer_store(state: Lower, op: ConvertLayoutOp) -> bool:
    """Leave a store to the slice that is the only reader of the stored array."""
    user = op.result.get_user_of_unique_use()
    if user is None or user.parent is not op.parent or not trims(user):
        return False
    state.trimmed[op.result] = op.source
    return True


def store_trimmed(state: Lower, op: Operation) -> None:
    """Store a slice of an array on the chip."""
    source, result = state.trimmed[op.operands[0]], op.results[0]
    shape, sizes = shape_of(source), shape_of(result)
    form, first = state.held(source), ints(op, "start_indices")
    target = result_in_hbm(state, result)
    if target_type(target) is not state.dtype(source):
        raise NeuronError("NIR_TIL005", "a tile of another type than the array")
    for box in boxes(form, shape, first, sizes):
        starts = tuple(n - low for n, low in zip(box.starts, first, strict=True))
        memory = part(target, sizes, Box(starts, box.sizes))
        store_form(state, part(form, shape, box), box.sizes, memory)
    state.memory[result] = target


def part(form: Form, shape: Sequence[int], box: Box) -> Form:
    """Return the copy of a box inside a copy of the whole."""
    found = slice_form(form, shape, box.sizes, [(n, ()) for n in box.starts])
    if found is None:
        raise NeuronError("NIR_TIL004", f"a box of {prod(box.sizes)} elements is not contiguous")
    return found
