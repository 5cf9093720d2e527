"""TF32 values: rounded operands of products, which numpy holds as float32."""

import numpy as np
import pytest
from xdsl.dialects.builtin import tf32
from xdsl.parser import Parser

from neuronir.dialects.hlo.constants import constant_array, constant_op
from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.tf32 import pack_tf32, round_tf32, unpack_tf32
from tests.differential.stages import REGISTRY

VALUES = np.array([0.0, -0.0, 1.5, -1 - 2.0**-10, 3.4e38, 1e-40, np.inf, -np.inf], np.float32)


def test_packed_values_are_rounded() -> None:
    back = unpack_tf32(pack_tf32(VALUES))
    assert back.tobytes() == round_tf32(VALUES).tobytes()
    assert np.isnan(unpack_tf32(pack_tf32(np.array([np.nan], np.float32)))[0])


@pytest.mark.parametrize("number", [0.0, -0.0, -1.5, 1 + 2.0**-12, np.inf])
def test_constants(number: float) -> None:
    op = constant_op(np.asarray(number, np.float32), element=tf32)
    assert constant_array(op).tobytes() == round_tf32(np.asarray(number, np.float32)).tobytes()


def test_a_conversion_rounds() -> None:
    text = (
        "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {"
        "  %0 = hlo.convert %x : (tensor<3xf32>) -> tensor<3xtf32>"
        "  %1 = hlo.convert %0 : (tensor<3xtf32>) -> tensor<3xf32>"
        "  func.return %1 : tensor<3xf32>"
        "}"
    )
    module = Parser(REGISTRY.context(), text).parse_module()
    x = np.array([1 + 2.0**-12, -2 - 2.0**-10, 1e-3], np.float32)
    np.testing.assert_array_equal(interpret(module, [x])[0], round_tf32(x))
