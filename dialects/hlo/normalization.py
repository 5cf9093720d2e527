"""Define batch normalisation ops."""

import abc

from xdsl.dialects.builtin import Float32Type, FloatAttr, IntegerAttr, IntegerType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from neuronir.dialects.hlo.base import HloOp
from neuronir.dialects.hlo.kinds import FLOAT_TENSOR, TENSOR, TENSOR_OR_TUPLE


class BatchNormOp(HloOp, abc.ABC):
    """A normalisation over all dimensions except feature_index; epsilon is added to the
    variance.
    """

    operand = operand_def(FLOAT_TENSOR)
    scale = operand_def(TENSOR)
    epsilon = prop_def(FloatAttr[Float32Type])
    feature_index = prop_def(IntegerAttr[IntegerType])
    result = result_def(TENSOR_OR_TUPLE)
    traits = traits_def(Pure())


@irdl_op_definition
class BatchNormTrainingOp(BatchNormOp):
    """Return the tuple (normalised operand, batch mean, batch variance)."""

    name = "hlo.batch_norm_training"

    operand = operand_def(FLOAT_TENSOR)
    scale = operand_def(TENSOR)
    offset = operand_def(TENSOR)


@irdl_op_definition
class BatchNormInferenceOp(BatchNormOp):
    """Normalise the operand with a given mean and variance."""

    name = "hlo.batch_norm_inference"

    operand = operand_def(FLOAT_TENSOR)
    scale = operand_def(TENSOR)
    offset = operand_def(TENSOR)
    mean = operand_def(TENSOR)
    variance = operand_def(TENSOR)


@irdl_op_definition
class BatchNormGradOp(BatchNormOp):
    """Return the tuple of gradients of (operand, scale, offset)."""

    name = "hlo.batch_norm_grad"

    operand = operand_def(FLOAT_TENSOR)
    scale = operand_def(TENSOR)
    mean = operand_def(TENSOR)
    variance = operand_def(TENSOR)
    grad_output = operand_def(TENSOR)


NORMALIZATION_OPS = (BatchNormTrainingOp, BatchNormInferenceOp, BatchNormGradOp)
