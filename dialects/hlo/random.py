"""Define random number generators."""

import zlib

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from neuronir.dialects.hlo.base import HloOp
from neuronir.dialects.hlo.kinds import TENSOR, TENSOR_OR_TUPLE
from neuronir.dialects.support.location import source_name


@irdl_op_definition
class RngOp(HloOp):
    """Draw random elements: rng_uniform in [a, b), or rng_normal with mean a and deviation b.

    HLO does not define the stream. Here it is Philox-4x32 with the key `stream_key`.
    """

    name = "hlo.rng"

    params = var_operand_def(TENSOR)
    distribution = prop_def(StringAttr)
    result = result_def(TENSOR)


def stream_key(op: Operation) -> tuple[int, int]:
    """Return the key of the stream of an rng op, two u32: a hash of the name of its instruction,
    and the number of later rng ops of this name in its block (copies by inlining or unrolling).
    """
    name, copies = source_name(op), 0
    following = op.next_op
    while following is not None:
        copies += following.name == RngOp.name and source_name(following) == name
        following = following.next_op
    return zlib.crc32(name.encode()), copies


@irdl_op_definition
class RngBitGeneratorOp(HloOp):
    """Generate random bits from a state and return the tuple (state, bits).

    The algorithm is rng_default, rng_three_fry or rng_philox.
    """

    name = "hlo.rng_bit_generator"

    state = operand_def(TENSOR)
    algorithm = prop_def(StringAttr)
    result = result_def(TENSOR_OR_TUPLE)
    traits = traits_def(Pure())


@irdl_op_definition
class RngGetAndUpdateStateOp(HloOp):
    """Return the state of the module's generator and advance it by delta."""

    name = "hlo.rng_get_and_update_state"

    delta = prop_def(IntegerAttr[IntegerType])
    result = result_def(TENSOR)


RANDOM_OPS = (RngOp, RngBitGeneratorOp, RngGetAndUpdateStateOp)
