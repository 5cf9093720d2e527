"""Import Slice and StridedSlice."""

from collections.abc import Sequence

from xdsl.ir import OpResult, SSAValue

from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.indexing import from_start
from neuronir.frontends.graph.indexing import strided_slice as slice_with_steps
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.passes.hlo.support.values import shape, size

MOST_INDICES = 1 << 8
"""Limit of entries of a data-dependent index vector: more than any tensor has dimensions."""

Entry = int | SSAValue
"""An index: an integer, or a scalar that depends on data."""


@op("Slice")
def slice_(o: Op) -> SSAValue:
    """Take a block at an offset, which may depend on data; a size of -1 takes the rest."""
    b, dims = o.b, o.dims()
    sizes = o.ints(2, "the size")
    begin = _entries(o, o[1])
    if len(begin) != len(dims) or len(sizes) != len(dims):
        refuse(f"an offset of {len(begin)} and a size of {len(sizes)} do not fit {list(dims)}")
    starts: list[int] = []
    limits: list[int] = []
    for n, at, length in zip(dims, begin, sizes, strict=True):
        if isinstance(at, SSAValue):
            if length < 0:
                refuse("if the offset depends on data, the size must be constant")
            starts.append(0)
            limits.append(n)
        else:
            starts.append(at)
            limits.append(n if length == -1 else at + length)
    if any(not 0 <= at <= stop <= n for at, stop, n in zip(starts, limits, dims, strict=True)):
        refuse(f"block {starts} to {limits} lies outside of shape {list(dims)}")
    value = b.slice(o[0], starts, limits)
    moving = {d: (at, sizes[d]) for d, at in enumerate(begin) if isinstance(at, SSAValue)}
    return _moved(o, value, moving)


def _entries(o: Op, value: SSAValue) -> list[Entry]:
    """Return the entries of an index vector, with data-dependent ones as scalars.

    Pack (a concatenation of single elements) is looked through, so that in x[:, t] only t depends
    on data.
    """
    known = o.b.known(value)
    if known is not None:
        return [int(n) for n in known.reshape(-1)]
    if isinstance(value, OpResult) and value.op.name == "hlo.concatenate":
        return [entry for part in value.op.operands for entry in _entries(o, part)]
    count = size(value)
    if count > MOST_INDICES:
        refuse(f"{count} indices are too many")
    flat = o.b.reshape(value, (count,))
    return [o.b.reshape(o.b.slice(flat, [i], [i + 1]), ()) for i in range(count)]


def _moved(o: Op, value: SSAValue, moving: dict[int, tuple[SSAValue, int]]) -> SSAValue:
    """Take the given number of elements of some dimensions from a data-dependent offset."""
    if not moving:
        return value
    b, dims = o.b, list(shape(value))
    zero = b.fill_like(0, next(iter(moving.values()))[0])
    starts = [zero] * len(dims)
    for d, (start, count) in moving.items():
        if count > dims[d]:
            refuse(f"a block of {count} does not fit a dimension of {dims[d]}")
        starts[d], dims[d] = start, count
    return b.op("dynamic_slice", [value, *starts], slice_sizes=dims)


@op("StridedSlice")
def strided_slice(o: Op) -> SSAValue:
    """Slice as Python does: begin, end and steps, with masks that modify their meaning."""
    spec = _Spec(o)
    value = _moved(o, o[0], spec.moving)
    value = slice_with_steps(o.b, value, spec.starts, spec.limits, spec.steps)
    return o.b.reshape(value, spec.result(shape(value)))


class _Spec:
    """The slices of a StridedSlice, one for each dimension of its operand.

    Bit i of a mask refers to entry i. begin_mask and end_mask ignore that entry, ellipsis_mask
    stands for all unnamed dimensions, new_axis_mask inserts a dimension of size one, and
    shrink_axis_mask takes one element and drops the dimension. Only that element may depend on data
    (`moving`), because a data-dependent range would have a data-dependent length.
    """

    def __init__(self, o: Op) -> None:
        self._o = o
        dims = o.dims()
        begin, end = _entries(o, o[1]), _entries(o, o[2])
        steps = o.ints(3, "the steps")
        if not len(begin) == len(end) == len(steps):
            refuse("begin, end and steps must have the same length")
        masks = {
            name: o.int(f"{name}_mask", 0)
            for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
        }

        def has(name: str, i: int) -> bool:
            return bool(masks[name] >> i & 1)

        places = range(len(begin))
        if sum(has("ellipsis", i) for i in places) > 1:
            refuse("it has more than one ellipsis")
        named = sum(not has("ellipsis", i) and not has("new_axis", i) for i in places)
        if named > len(dims):
            refuse(f"it indexes {named} dimensions of {len(dims)}")
        self.starts: list[int] = []
        self.limits: list[int] = []
        self.steps: list[int] = []
        self.moving: dict[int, tuple[SSAValue, int]] = {}
        # The fate of each dimension: "kept", "dropped", or "new" in between.
        self._kinds: list[str] = []
        for i in places:
            if has("ellipsis", i):
                self._whole(dims, len(dims) - named)
            elif has("new_axis", i):
                self._kinds.append("new")
            elif has("shrink_axis", i):
                self._element(dims[len(self.starts)], begin[i])
            else:
                first, last = (
                    None if has(name, i) else self._number(entry)
                    for name, entry in (("begin", begin[i]), ("end", end[i]))
                )
                self._range(dims[len(self.starts)], first, last, steps[i])
        self._whole(dims, len(dims) - len(self.starts))

    def _number(self, entry: Entry) -> int:
        if isinstance(entry, SSAValue):
            refuse("the bounds of a slice depend on data: its length must be known")
        return entry

    def _whole(self, dims: Sequence[int], count: int) -> None:
        for n in dims[len(self.starts) : len(self.starts) + count]:
            self._add(0, n, 1, "kept")

    def _element(self, n: int, element: Entry) -> None:
        if isinstance(element, SSAValue):
            self.moving[len(self.starts)] = from_start(self._o.b, element, n), 1
            self._add(0, 1, 1, "dropped")
            return
        if not -n <= element < n:
            refuse(f"index {element} lies outside of a dimension of size {n}")
        self._add(element % n, element % n + 1, 1, "dropped")

    def _range(self, n: int, begin: int | None, end: int | None, step: int) -> None:
        if step == 0:
            refuse("a step must not be zero")
        self._add(*slice(begin, end, step).indices(n), "kept")

    def _add(self, start: int, limit: int, step: int, kind: str) -> None:
        self.starts.append(start)
        self.limits.append(limit)
        self.steps.append(step)
        self._kinds.append(kind)

    def result(self, sliced: Sequence[int]) -> list[int]:
        """Return the shape of the result from that of the slice."""
        sizes = iter(sliced)
        found = []
        for kind in self._kinds:
            n = 1 if kind == "new" else next(sizes)
            if kind != "dropped":
                found.append(n)
        return found
