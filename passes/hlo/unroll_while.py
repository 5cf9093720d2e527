"""hlo-unroll-while: find static trip counts; unroll loops on request."""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, ModuleOp, i64
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.walking import ops_of, walk_in
from neuronir.passes.hlo.branches import branch_ops, follows_data, is_pure
from neuronir.passes.hlo.counted_loop import counted_loop
from neuronir.passes.hlo.inline import inline_block
from neuronir.passes.hlo.narrow_counter import narrow_counter
from neuronir.passes.hlo.simplify import simplify_block
from neuronir.passes.hlo.support.walk import functions, replace
from neuronir.passes.hlo.trip_count import TripCount, trip_count
from neuronir.passes.hlo.while_carry import COUNTER, carry_tuple
from neuronir.passes.statistics import record


def _size(block: Block) -> int:
    return sum(
        1 + sum(_size(inner) for region in op.regions for inner in region.blocks)
        for op in ops_of(block)
    )


FEW, FEW_OPS = 8, 5000
"""Loops of fewer iterations are unrolled up to so many ops: a stack of layers rather than steps."""


class _Unroller:
    def __init__(self, unroll: bool, max_ops: int, loop_ops: int, addresses: bool) -> None:
        self.unroll = unroll
        self.addresses = addresses
        self.max_ops = max_ops
        self.loop_ops = loop_ops
        self.counts = {"static": 0, "dynamic": 0, "unrolled": 0}

    def block(self, block: Block) -> None:
        for op in tuple(block.ops):
            if op.name == "hlo.composite":
                continue  # its region defines its result, not how it is computed
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner)
            if op.name == "hlo.while":
                self.loop(carry_tuple(op))

    def loop(self, op: Operation) -> None:
        found = trip_count(op)
        if found is None:
            self.counts["dynamic"] += 1
            return
        self.counts["static"] += 1
        body = op.regions[1].block
        size = found.count * _size(body)
        if found.count <= 1:
            self.expand(op, found.count)
            return
        self.annotate(op, found)
        limit = max(self.loop_ops, FEW_OPS if found.count < FEW else 0)
        kept = _contains_dynamic(op) and counted_loop(op) is not None
        fits = size <= self.max_ops and (size <= limit or not self.stays(op))
        if self.unroll and fits and not kept:
            self.expand(op, found.count)
        else:
            narrow_counter(op)

    def expand(self, op: Operation, count: int) -> None:
        value = op.operands[0]
        body = op.regions[1].block
        for _ in range(count):
            value = inline_block(body, [value], op)
        replace(op, value)
        self.counts["unrolled"] += 1

    def annotate(self, op: Operation, found: TripCount) -> None:
        op.properties["trip_count"] = IntegerAttr(found.count, i64)
        if found.counter is not None:
            numbers = (found.counter, found.start, found.step)
            op.attributes[COUNTER] = index_triple(numbers)

    def stays(self, op: Operation) -> bool:
        """Return whether a loop is a counted loop whose ops are computed tile by tile."""
        from neuronir.passes.hlo.recurrences.rounds import Rounds

        ops = list(op.regions[1].block.ops)
        branches = [o for o in ops if o.name == "hlo.conditional"]
        if not all(is_pure(o) and follows_data(o, op) for o in branches):
            return False
        inside = (o for o in ops if o not in branches)
        if not all(
            Rounds.takes(o) or o.name in _AROUND
            for o in (*inside, *(inner for o in branches for inner in branch_ops(o)))
        ):
            return False
        loop = counted_loop(op)
        if loop is None or self.addresses:
            return loop is not None
        return all(loop.places(o) for o in ops if o.name in _SLICES)


def _contains_dynamic(op: Operation) -> bool:
    """Return whether the body of a loop contains a loop with an unknown trip count.

    Each copy of such a loop would need registers of its own.
    """
    inner = (o for o in walk_in(op.regions[1].block) if o.name == "hlo.while")
    return any("trip_count" not in o.properties for o in inner)


_SLICES = frozenset(("hlo.dynamic_slice", "hlo.dynamic_update_slice"))
_AROUND = _SLICES | {f"hlo.{n}" for n in ("get_tuple_element", "tuple", "return")}


def index_triple(numbers: tuple[int, int, int]) -> DenseArrayBase[IntegerType]:
    """Return an attribute of three integers."""
    return DenseArrayBase.from_list(i64, numbers)


@dataclass(frozen=True)
class HloUnrollWhilePass(ModulePass):
    """Find the trip counts of while loops, and unroll loops on request.

    A loop that counts a carried element from a constant to a constant in constant steps is
    analysed; otherwise, the part of the loop that determines its condition is interpreted, if it
    starts from small constants. `mode=annotate` adds the property `trip_count` and, for counting
    loops, the attribute `hlo.counter` = [element, start, step], and a counter of 32 bits instead of
    64 if its values fit. `mode=unroll` replaces a loop by
    its iterations if the result has at most `max_ops` ops; for loops over slices of arrays, which
    the compiler can keep as loops, the limit is `loop_ops`, or 5,000 for fewer than 8 iterations.
    A conditional that depends on arguments of the program can stay in such a loop. A counting loop
    around a loop with an unknown trip count is kept. Loops that run once or never are always
    removed. Loops with unknown trip counts only get a tuple of values to carry, if they carry one
    value or a tuple that hlo.tuple did not create. Without `addresses`, slices at computed
    positions cannot stay in a loop, except for those whose position depends on the iteration alone.
    `simplify` simplifies functions in which loops were unrolled.
    """

    name = "hlo-unroll-while"
    mode: str = field(default="annotate", metadata={"help": "annotate or unroll"})
    max_ops: int = field(
        default=20000, metadata={"help": "largest number of ops of an unrolled loop"}
    )
    loop_ops: int = field(default=500, metadata={"help": "the same for loops that can stay loops"})
    addresses: bool = field(
        default=True, metadata={"help": "whether transfers take addresses computed at run time"}
    )
    simplify: bool = field(
        default=False, metadata={"help": "simplify functions with unrolled loops"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.mode not in ("annotate", "unroll"):
            raise NeuronError(
                "NIR_PASS_OPTION",
                f"{self.name}: mode is '{self.mode}'",
                help="use mode=annotate or mode=unroll",
            )
        unroller = _Unroller(self.mode == "unroll", self.max_ops, self.loop_ops, self.addresses)
        for function in functions(op):
            for block in function.body.blocks:
                before = unroller.counts["unrolled"]
                unroller.block(block)
                if self.simplify and unroller.counts["unrolled"] > before:
                    simplify_block(block)
        for key, n in unroller.counts.items():
            record(self.name, key, n)
