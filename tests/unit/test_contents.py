"""Contents of blocks, which decide whether what was found for one holds for another."""

import pytest
from xdsl.dialects.builtin import AnyFloat, TensorType, bf16, f16, f32
from xdsl.ir import Block

from neuronir.dialects.hlo.unary import ConvertOp
from neuronir.dialects.support.contents import contents_of_block


def body(*kinds: AnyFloat, order: tuple[int, ...] = (0, 1)) -> Block:
    """The body of a loop that converts values of these types from outside."""
    outer = Block(arg_types=[TensorType(kind, [4]) for kind in kinds])
    made = Block()
    for i in order:
        operands, results = [outer.args[i]], [TensorType(f32, [4])]
        made.add_op(ConvertOp.create(operands=operands, result_types=results))
    return made


def test_equal_blocks() -> None:
    assert contents_of_block(body(bf16, f16)) == contents_of_block(body(bf16, f16))


@pytest.mark.parametrize(
    "other",
    [
        body(f16, f16),  # another type from outside
        body(bf16, f16, order=(0, 0)),  # one value twice
        body(bf16, f16, order=(0,)),
    ],
)
def test_other_blocks(other: Block) -> None:
    assert contents_of_block(body(bf16, f16)) != contents_of_block(other)


def test_one_value_twice_is_not_two_values() -> None:
    """Of the same type."""
    assert contents_of_block(body(f16, f16)) != contents_of_block(body(f16, f16, order=(0, 0)))
