"""hlo-gather-diagonals: look up what depends on a difference of positions once a difference."""

from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import i64_array, i64_attr
from neuronir.dialects.hlo.contents import Array
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.evaluate import can_evaluate, known_value
from neuronir.passes.hlo.support.index_vectors import index_dims
from neuronir.passes.hlo.support.values import element, integer, ints, shape, size, tensor
from neuronir.passes.hlo.support.walk import blocks, rewrite_block
from neuronir.passes.statistics import record

_LARGEST = 1 << 22
"""Elements of indices that are evaluated: the differences of 2,048 positions."""
_REPEATED = 8
"""How often a row must be read on average before reading it once is worth a second gather."""


@dataclass(frozen=True)
class HloGatherDiagonalsPass(ModulePass):
    """Split gathers whose indices are known and constant along diagonals, as in T5's bias.

    A relative position bias reads `table[f(j - i)]` for each query i and key j. Its n x m rows are
    n + m - 1 different ones, and those of query i are m adjacent ones of a line of all differences:

        %y = gather(%table, %i)      ->      %line = gather(%table, %differences)
                                             %y = gather(%line, [n-1, n-2, ..., 0])   // m rows each

    The second gather reads one window a query, of m values of a transposed line if the rows of the
    table are shorter than m. The indices may be computed, from iotas and constants. A gather must
    choose whole rows along one dimension.
    """

    name = "hlo-gather-diagonals"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count = 0
        for block in tuple(blocks(op)):
            rules = {"hlo.gather": (gather_diagonals,)}
            count += rewrite_block(block, rules, inner=False)
        record(self.name, "gathers split", count)


def gather_diagonals(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a gather of the rows `line[j - i]` as one of the line, and one of its windows."""
    table, indices = op.operands
    dims, sizes = shape(table), ints(op, "slice_sizes")
    mapped = ints(op, "start_index_map")
    if len(mapped) != 1 or ints(op, "operand_batching_dims"):
        return None
    (axis,) = mapped
    rest = [d for d in range(len(dims)) if d != axis]
    if ints(op, "collapsed_slice_dims") != (axis,) or any(sizes[d] != dims[d] for d in rest):
        return None
    vector_dim = integer(op, "index_vector_dim")
    order = index_dims(indices, vector_dim, ())
    places = [d for d in order if shape(indices)[d] != 1]
    if len(places) != 2 or size(op.results[0]) == 0:
        return None
    rows, columns = (shape(indices)[d] for d in places)
    if rows * columns < _REPEATED * (rows + columns):
        return None
    known = known_value(indices, {}, _LARGEST) if _without_arguments(indices) else None
    line = None if known is None else _line(known.reshape(rows, columns), dims[axis])
    if line is None:
        return None
    width = [dims[d] for d in rest]
    starts = e.constant(np.arange(rows - 1, -1, -1, dtype=np.int32)[:, None])
    found = _gathered(e, e.transpose(table, (axis, *rest)), e.constant(line[:, None]), 1)
    if prod(width) < columns:
        turned = e.transpose(found, (*range(1, len(dims)), 0))
        windows = _gathered(e, turned, starts, columns, len(rest))
        windows = e.transpose(windows, (0, len(dims), *range(1, len(dims))))
    else:
        windows = _gathered(e, found, starts, columns)
    offset = ints(op, "offset_dims")
    windows = e.reshape(windows, (*(shape(indices)[d] for d in order), *width))
    free = [d for d in range(len(order) + len(rest)) if d not in offset]
    targets = [*free, *offset]
    return e.transpose(windows, [targets.index(d) for d in range(len(targets))])


def _without_arguments(value: SSAValue) -> bool:
    """Return whether a value follows from constants: a walk that costs less than evaluating."""
    stack, seen = [value], {value}
    while stack:
        top = stack.pop()
        if not isinstance(top, OpResult) or not can_evaluate(top.op) or size(top) > _LARGEST:
            return False
        new = [v for v in top.op.operands if v not in seen]
        seen.update(new)
        stack.extend(new)
    return True


def _line(indices: Array, count: int) -> Array | None:
    """Return the indices of the differences 1 - rows to columns - 1, clamped to `count` rows.

    None if indices [rows, columns] differ along a diagonal.
    """
    if bool((indices[1:, 1:] != indices[:-1, :-1]).any()):
        return None
    line = np.concatenate([indices[:0:-1, 0], indices[0]]).astype(np.int64)
    return np.clip(line, 0, count - 1).astype(np.int32)


def _gathered(e: Emitter, table: SSAValue, starts: SSAValue, count: int, axis: int = 0) -> SSAValue:
    """Return the window of `count` positions along `axis` at each of starts [n, 1].

    Windows of one position lose the dimension.
    """
    dims = shape(table)
    sizes = [count if d == axis else n for d, n in enumerate(dims)]
    gone = [axis] if count == 1 else []
    kept = [n for d, n in enumerate(sizes) if d not in gone]
    properties = {
        "offset_dims": i64_array(range(1, len(kept) + 1)),
        "collapsed_slice_dims": i64_array(gone),
        "start_index_map": i64_array([axis]),
        "index_vector_dim": i64_attr(1),
        "slice_sizes": i64_array(sizes),
    }
    assert element(starts) == i32
    type_ = tensor((shape(starts)[0], *kept), element(table))
    return e.emit("gather", [table, starts], type_, properties)
