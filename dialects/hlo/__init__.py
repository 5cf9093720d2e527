"""The hlo dialect: one operation per HLO opcode, on builtin tensor types."""

from functools import partial

from xdsl.ir import Dialect, OpTrait, OpTraits

from neuronir.dialects.hlo.attributes import HloResourceAttr, TokenType
from neuronir.dialects.hlo.canonicalization import HloCanonicalization
from neuronir.dialects.hlo.collective import COLLECTIVE_OPS
from neuronir.dialects.hlo.constants import CONSTANT_OPS
from neuronir.dialects.hlo.control_flow import CONTROL_FLOW_OPS
from neuronir.dialects.hlo.data_movement import DATA_MOVEMENT_OPS
from neuronir.dialects.hlo.elementwise import ELEMENTWISE_OPS
from neuronir.dialects.hlo.linear import LINEAR_OPS
from neuronir.dialects.hlo.normalization import NORMALIZATION_OPS
from neuronir.dialects.hlo.random import RANDOM_OPS
from neuronir.dialects.hlo.reduction import REDUCTION_OPS
from neuronir.dialects.hlo.resources import HloResources


def _with_patterns(declared: OpTraits) -> tuple[OpTrait, ...]:
    return (*declared.traits, HloCanonicalization())


HLO = Dialect(
    "hlo",
    [
        *ELEMENTWISE_OPS,
        *CONSTANT_OPS,
        *DATA_MOVEMENT_OPS,
        *LINEAR_OPS,
        *REDUCTION_OPS,
        *CONTROL_FLOW_OPS,
        *RANDOM_OPS,
        *NORMALIZATION_OPS,
        *COLLECTIVE_OPS,
    ],
    [TokenType, HloResourceAttr],
    [HloResources()],
)

for _op in HLO.operations:
    _op.traits = OpTraits(partial(_with_patterns, _op.traits))
