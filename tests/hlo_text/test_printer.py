"""Printing modules that no importer made."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.hlo.constants import constant_op
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.control_flow import ReturnOp as HloReturnOp
from neuronir.dialects.hlo.elementwise import AddOp, MultiplyOp
from neuronir.dialects.hlo.unary import TanhOp
from neuronir.dialects.support.dtypes import from_hlo_name
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.frontends.hlo_text.printer import print_hlo_text

F32_4 = tensor_type((4,), from_hlo_name("f32"))


def function_of(block: Block, *results: Operation) -> ModuleOp:
    """A module whose main is the block and returns the results."""
    values = [op.results[0] for op in results]
    block.add_op(ReturnOp.create(operands=values))
    types = ([a.type for a in block.args], [v.type for v in values])
    module = ModuleOp([FuncOp("main", types, Region(block))])
    module.verify()
    return module


def test_built_module() -> None:
    """Ops without names get names; two of one name get different ones."""
    block = Block(arg_types=[F32_4])
    first = TanhOp.create(operands=[block.args[0]], result_types=[F32_4])
    second = TanhOp.create(operands=[first.result], result_types=[F32_4])
    block.add_ops([first, second])
    text = print_hlo_text(function_of(block, second))
    assert text == (
        "HloModule module\n\nENTRY main {\n"
        "  param_0 = f32[4]{0} parameter(0)\n"
        "  tanh = f32[4]{0} tanh(param_0)\n"
        "  ROOT tanh.1 = f32[4]{0} tanh(tanh)\n}\n"
    )


def test_composite_prints_as_a_call_of_its_meaning() -> None:
    """Two equal composites share one computation."""
    block = Block(arg_types=[F32_4])
    value: SSAValue = block.args[0]
    for _ in range(2):
        body = Block(arg_types=[F32_4])
        squared = MultiplyOp.create(operands=[body.args[0]] * 2, result_types=[F32_4])
        body.add_ops([squared, HloReturnOp.create(operands=[squared.result])])
        op = CompositeOp.create(
            operands=[value],
            result_types=[F32_4],
            properties={"kind": StringAttr("silu")},
            regions=[Region(body)],
        )
        block.add_op(op)
        value = op.result
    text = print_hlo_text(function_of(block, op))
    assert text.count("composite_silu {") == 1
    assert text.count("to_apply=composite_silu") == 2
    import_hlo_text(text).verify()


def test_several_results_print_as_a_tuple() -> None:
    """A function of two results has a tuple as its root."""
    block = Block()
    two = constant_op(np.full((2,), 2.0, np.float32))
    four = AddOp.create(operands=[two.result] * 2, result_types=[two.result.type])
    block.add_ops([two, four])
    text = print_hlo_text(function_of(block, two, four))
    assert "ROOT tuple = (f32[2]{0}, f32[2]{0}) tuple(constant, add)" in text


def test_foreign_op_is_a_user_error() -> None:
    """An op outside of hlo has no HLO text, and the error says which op."""
    from xdsl.dialects.test import TestOp

    block = Block()
    op = TestOp(result_types=[F32_4])
    block.add_op(op)
    with pytest.raises(NeuronError, match="test.op has no form in HLO text"):
        print_hlo_text(function_of(block, op))
