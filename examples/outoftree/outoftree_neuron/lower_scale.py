"""The pass `toy-lower-scale`: toy.scale becomes an hlo multiplication."""

from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.hlo.constants import constant_op
from neuronir.dialects.hlo.data_movement import BroadcastOp
from neuronir.dialects.hlo.elementwise import MultiplyOp
from neuronir.dialects.support.dtypes import np_dtype
from neuronir.dialects.support.location import inherit
from neuronir.passes import statistics
from outoftree_neuron.dialect import ScaleOp


@dataclass(frozen=True)
class LowerScalePass(ModulePass):
    """Replace toy.scale with hlo.multiply by a broadcast constant."""

    name = "toy-lower-scale"

    keep_unit: bool = field(
        default=False, metadata={"help": "lower a scale by 1 too, instead of dropping it"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every toy.scale of the module."""
        for scale in [inner for inner in op.walk() if isinstance(inner, ScaleOp)]:
            if scale.factor.value.data == 1.0 and not self.keep_unit:
                scale.result.replace_all_uses_with(scale.operand)
                statistics.record(self.name, "dropped")
            else:
                _lower(scale)
                statistics.record(self.name, "lowered")
            scale.detach()
            scale.erase()


def _lower(scale: ScaleOp) -> None:
    tensor = scale.operand.type
    assert isinstance(tensor, TensorType)
    factor = np.array(scale.factor.value.data, dtype=np_dtype(tensor.element_type))
    constant = constant_op(factor)
    broadcast = BroadcastOp.create(
        operands=[constant.result],
        result_types=[tensor],
        properties={"dimensions": i64_array(())},
    )
    product = MultiplyOp.create(operands=[scale.operand, broadcast.result], result_types=[tensor])
    block = scale.parent
    assert block is not None
    for new in (constant, broadcast, product):
        inherit(new, scale)  # keeps the source location up to the binary
        block.insert_op_before(new, scale)
    scale.result.replace_all_uses_with(product.result)
