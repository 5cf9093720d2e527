"""The regions of ops that are verified by a plan."""

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr, f32
from xdsl.ir import Block, Region

from neuronir._xdsl import OpVerifyError, verify_located
from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.hlo.constants import ConstantOp, constant_op
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.hlo.control_flow import CompositeOp, ReturnOp

ONE: Array = np.ones(3, np.float32)


def body() -> Block:
    """A block that returns its argument."""
    block = Block(arg_types=[tensor_type((3,), f32)])
    block.add_op(ReturnOp.create(operands=[block.args[0]]))
    return block


def composite(source: ConstantOp, regions: list[Region]) -> CompositeOp:
    """A composite with these regions."""
    return CompositeOp.create(
        operands=[source.results[0]],
        result_types=[source.results[0].type],
        properties={"kind": StringAttr("gelu")},
        regions=regions,
    )


def test_one_block_is_right() -> None:
    """With any arguments."""
    verify_located(composite(constant_op(ONE), [Region(body())]))


@pytest.mark.parametrize(
    "regions, complaint",
    [
        ([Region([])], "expected a single block, but got 0"),
        ([Region([body(), body()])], "expected a single block, but got 2"),
        ([], "1 region, but got 0"),
        ([Region(body()), Region(body())], "1 region, but got 2"),
    ],
)
def test_other_regions_are_wrong(regions: list[Region], complaint: str) -> None:
    """As many regions as are defined, of one block each."""
    with pytest.raises(OpVerifyError) as caught:
        verify_located(composite(constant_op(ONE), regions))
    assert complaint in str(caught.value)


def test_regions_read_nothing_from_outside() -> None:
    """Of a composite, whose meaning is its own."""
    source = constant_op(ONE)
    block = Block(arg_types=[source.results[0].type])
    block.add_op(ReturnOp.create(operands=[source.results[0]]))
    with pytest.raises(OpVerifyError, match="IsolatedFromAbove"):
        verify_located(composite(source, [Region(block)]))
