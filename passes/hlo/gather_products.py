"""hlo-gather-products: compute the products of a dot that a gather reads from rows of its table."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.dialects.tile.rules import ELEMENTWISE
from neuronir.passes.hlo.rules.gathered_values import result_dims
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, producer, shape, size, tensor
from neuronir.passes.hlo.support.walk import blocks, rewrite_block
from neuronir.passes.statistics import record

_FEWER = 16
"""The rows that are read have at most this part of the elements of all products."""


@dataclass(frozen=True)
class HloGatherProductsPass(ModulePass):
    """Compute the products of a dot that a gather reads from the rows of a table.

    The loss of a language model reads the logit of one word for each position. If all other readers
    of the logits are reductions, this gather alone would be the reason to store them:

        %y = gather(dot(%x, %table), %word)    ->    %rows = gather(%table, %word)
                                                     %y = reduce(%rows * %x)

    The table is [words, depth], or its transpose, and depth is the last dimension of x. The indices
    choose a word, and each other dimension is a batch. All products must have 16 times as many
    elements as the rows. Products and sums are fp32, so that roundings differ from those of the
    dot.
    """

    name = "hlo-gather-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count = 0
        for block in tuple(blocks(op)):
            count += rewrite_block(block, {"hlo.gather": (gather_of_dot,)}, inner=False)
        record(self.name, "gathers rewritten", count)


@dataclass(frozen=True)
class _Product:
    """A dot without batch: `words` is the dimension of its result that a table's rows are."""

    table: SSAValue
    x: SSAValue
    words: int


def gather_of_dot(op: Operation, e: Emitter) -> SSAValue | None:
    """gather(dot(x, table)) -> reduce(gather(table) * x), if this reads few of the products."""
    dot = producer(op.operands[0], "dot")
    product = None if dot is None else _product_of(dot, ints(op, "start_index_map"))
    if dot is None or product is None:
        return None
    table, x = product.table, product.x
    result, rank = shape(op.results[0]), len(shape(dot.results[0]))
    read = (*result, shape(table)[1])
    if len(ints(op, "operand_batching_dims")) != rank - 1:
        return None
    if _FEWER * size(op.results[0]) * read[-1] > size(dot.results[0]) or not _is_reduced(dot, op):
        return None
    properties = op.properties | {
        "operand_batching_dims": i64_array([]),
        "start_indices_batching_dims": i64_array([]),
        "collapsed_slice_dims": i64_array([0]),
        "start_index_map": i64_array([0]),
        "slice_sizes": i64_array([1, read[-1]]),
        "offset_dims": i64_array([len(result)]),
    }
    rows = e.emit("gather", [table, op.operands[1]], tensor(read, element(table)), properties)
    places = result_dims(op)
    to = [places[d] for d in range(rank) if d != product.words]
    order = sorted(range(len(to)), key=lambda k: to[k])
    x = e.transpose(x, (*order, len(to)))
    x = e.broadcast(x, read, (*sorted(to), len(result)))
    products = e.binary("multiply", e.convert(rows, f32), e.convert(x, f32))
    return e.convert(e.reduce(products, 0, [len(result)], "add"), element(op.results[0]))


def _product_of(dot: Operation, chosen: tuple[int, ...]) -> _Product | None:
    """Return a dot as the product with a table whose rows are dimension `chosen`, if it is one."""
    values = (dot.results[0], *dot.operands)
    if any(not is_float(element(v)) or byte_size(element(v)) > byte_size(f32) for v in values):
        return None
    lhs, rhs = (ints(dot, f"{side}_contracting_dims") for side in ("lhs", "rhs"))
    last = len(shape(dot.results[0])) - 1
    if len(lhs) != 1 or ints(dot, "lhs_batch_dims") or chosen not in ((0,), (last,)):
        return None
    sides = [(dot.operands[0], lhs[0]), (dot.operands[1], rhs[0])]
    (x, inner), (table, depth) = sides if chosen == (last,) else sides[::-1]
    turned = producer(table, "transpose")
    if turned is not None and depth == 0 and ints(turned, "permutation") == (1, 0):
        table, depth = turned.operands[0], 1
    if len(shape(table)) != 2 or depth != 1 or inner != len(shape(x)) - 1:
        return None
    return _Product(table, x, chosen[0])


def _is_reduced(dot: Operation, gather: Operation) -> bool:
    """Return whether all products are only reduced, not stored, beside what a gather reads."""
    reads = list(dot.results[0].uses)
    while reads:
        use = reads.pop()
        reader = use.operation
        if reader is gather or (reader.name == "hlo.reduce" and use.index == 0):
            continue
        if reader.name not in ELEMENTWISE:
            return False
        reads += reader.results[0].uses
    return True
