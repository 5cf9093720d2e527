"""Time calls of xDSL beside those of our base class and helpers: `python -m benchmarks.xdsl_calls`.

The table is Markdown, for docs/upstream.md: nanoseconds an op, the best of seven runs.
"""

from collections.abc import Callable
from timeit import repeat
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i32
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

from neuronir._xdsl import verify_located
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.ops import NeuronOp
from neuronir.dialects.support.shapes import extents
from neuronir.dialects.support.walking import ops_of, walk

OPS = 5000


@irdl_op_definition
class PlainOp(IRDLOperation):
    """An op as xDSL makes it."""

    name = "bench.plain"
    a = operand_def()
    b = operand_def()
    r = result_def()


@irdl_op_definition
class OwnOp(NeuronOp):
    """The same op with our base class."""

    name = "bench.own"
    a = operand_def()
    b = operand_def()
    r = result_def()


def chain(kind: Any) -> ModuleOp:
    """A block of ops each of which reads the one before it."""
    block = Block([TestOp.create(result_types=[i32, i32])])
    assert block.first_op is not None
    a, b = block.first_op.results
    for _ in range(OPS):
        op = kind.create(operands=[a, b], result_types=[i32])
        block.add_op(op)
        a = op.results[0]
    return ModuleOp(Region(block))


def nanoseconds(call: Callable[[], object]) -> float:
    """The least time of a call on all ops, for one op."""
    return min(repeat(call, number=1, repeat=7)) / OPS * 1e9


def rows() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """What is timed: by xDSL, and by us."""
    plain, own = chain(PlainOp), chain(OwnOp)
    block = own.body.block
    a, b = TestOp.create(result_types=[i32, i32]).results
    ops = [[op for op in m.body.block.ops if len(op.operands) == 2] for m in (plain, own)]
    values = [[op.results[0] for op in each] for each in ops]
    shaped = TensorType(f32, [128, 64, 32])

    def made(kind: Any) -> Callable[[], object]:
        return lambda: [kind.create(operands=(a, b), result_types=(i32,)) for _ in range(OPS)]

    return {
        "`create`": (made(PlainOp), made(OwnOp)),
        "`op.operands[0]`": (
            lambda: [op.operands[0] for op in ops[0]],
            lambda: [op.operands[0] for op in ops[1]],
        ),
        "hash of a value": (lambda: set(values[0]), lambda: set(values[1])),
        "`walk`": (lambda: list(own.walk()), lambda: list(walk(own))),
        "`block.ops`": (lambda: [op for op in block.ops], lambda: [op for op in ops_of(block)]),
        "`clone`": (plain.clone, lambda: clone(own)),
        "`verify`": (plain.verify, lambda: verify_located(own)),
        "`get_shape`": (
            lambda: [shaped.get_shape() for _ in range(OPS)],
            lambda: [extents(shaped) for _ in range(OPS)],
        ),
    }


def main() -> None:
    """Print the table."""
    print("| call | xDSL, ns | NeuronIR, ns |\n|---|---|---|")
    for name, (theirs, ours) in rows().items():
        print(f"| {name} | {nanoseconds(theirs):.0f} | {nanoseconds(ours):.0f} |")


if __name__ == "__main__":
    main()
