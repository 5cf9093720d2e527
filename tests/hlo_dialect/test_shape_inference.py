"""Inferred types are those that XLA printed, and rules that do not hold say so."""

import pytest
from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.hlo.attributes import i64_array, i64_attr, tensor_type, tuple_type
from neuronir.dialects.hlo.shape_inference import can_infer, infer_result_type
from neuronir.dialects.support.dtypes import from_hlo_name
from neuronir.frontends.hlo_text import import_hlo_text
from tests.corpus import CORPUS

F32 = from_hlo_name("f32")


def f32(*shape: int) -> TensorType:
    """A float32 tensor type."""
    return tensor_type(shape, F32)


@pytest.mark.parametrize("name", ["shape_zoo", "conv_zoo", "dot_zoo", "reduce_zoo", "int_zoo"])
def test_inference_agrees_with_xla(name: str) -> None:
    """For each op of the corpus whose type can be inferred, it is the type in the text."""
    module = import_hlo_text((CORPUS / "hlo" / "ops" / f"{name}.hlo").read_text())
    count = 0
    for op in module.walk():
        if can_infer(op.name):
            inferred = infer_result_type(op.name, op.operand_types, op.properties)
            found = op.results[0].type
            if isinstance(found, TensorType) and isinstance(inferred, TensorType):
                assert inferred.get_shape() == found.get_shape(), op.name
            else:
                assert inferred == found, op.name
            count += 1
    assert count > 5


def test_several_inputs_make_a_tuple() -> None:
    """A reduction of two inputs has a tuple type."""
    index = tensor_type((4, 6), from_hlo_name("s32"))
    start = tensor_type((), from_hlo_name("s32"))
    inferred = infer_result_type(
        "hlo.reduce", [f32(4, 6), index, f32(), start], {"dimensions": i64_array([0])}
    )
    assert inferred == tuple_type([f32(6), tensor_type((6,), from_hlo_name("s32"))])
    assert inferred == TupleType(inferred.types)


@pytest.mark.parametrize(
    ("size", "padded", "expected"), [(4, 0, 1), (4, -3, 4), (0, 5, 5), (0, 0, 0)]
)
def test_pad_sizes(size: int, padded: int, expected: int) -> None:
    """Padding may be negative, and interior padding needs two elements."""
    low = expected - size if padded == 0 else padded
    properties = {
        "edge_padding_low": i64_array([low]),
        "edge_padding_high": i64_array([0]),
        "interior_padding": i64_array([0 if padded == 0 else 1]),
    }
    assert infer_result_type("hlo.pad", [f32(size), f32()], properties) == f32(expected)


def test_message_names_op_rule_and_values() -> None:
    """A broken rule is one line."""
    with pytest.raises(VerifyException, match=r"^hlo\.concatenate: input 1 of type"):
        infer_result_type("hlo.concatenate", [f32(2, 3), f32(2, 4)], {"dimension": i64_attr(0)})
