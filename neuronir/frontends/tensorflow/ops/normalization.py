"""Import softmax and losses, batch normalisation, local response normalisation."""

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.frontends.graph import indexing as I
from neuronir.frontends.graph import normalization as N
from neuronir.frontends.graph import reductions as R
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import together
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.passes.hlo.support.values import shape


@op("Softmax")
def softmax(o: Op) -> SSAValue:
    """Compute exp(x) over its sum, along the last dimension."""
    return N.softmax(o.b, o[0], [_last(o)])


@op("LogSoftmax")
def log_softmax(o: Op) -> SSAValue:
    """Compute the logarithm of softmax, along the last dimension."""
    return N.log_softmax(o.b, o[0], [_last(o)])


def _last(o: Op) -> int:
    if not o.dims():
        refuse("it takes a tensor of rank 1 at least")
    return len(o.dims()) - 1


def _loss(b: BlockBuilder, logits: SSAValue, labels: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Compute the cross entropy of rows with probabilities, and its gradient."""
    logs = N.log_softmax(b, logits, [1])
    # A label of zero contributes nothing, even if the logarithm is -inf.
    product = b.binary("multiply", labels, logs)
    zero = b.fill_like(0, product)
    product = b.select(b.compare(labels, zero, "EQ"), zero, product)
    loss = b.unary("negate", R.total(b, product, [1]))
    gradient = b.binary("subtract", b.unary("exponential", logs), labels)
    return loss, gradient


@op("SoftmaxCrossEntropyWithLogits", outputs="loss backprop")
def cross_entropy(o: Op) -> Sequence[SSAValue]:
    """Compute the loss of each row, and its gradient."""
    logits, labels = together(o.b, o[0], o[1])
    if len(shape(logits)) != 2:
        refuse("it takes two matrices")
    return _loss(o.b, logits, labels)


@op("SparseSoftmaxCrossEntropyWithLogits", outputs="loss backprop")
def sparse_cross_entropy(o: Op) -> Sequence[SSAValue]:
    """Compute the same with the index of the correct column instead of probabilities."""
    b, dims = o.b, o.dims()
    if len(dims) != 2 or o.dims(1) != dims[:1]:
        refuse("it takes a matrix and one value for each row")
    one, zero = b.scalar(1, o.element()), b.scalar(0, o.element())
    labels = I.one_hot(b, o[1], dims[1], 1, one, zero)
    return _loss(b, o[0], labels)


@op("LRN")
def local_response(o: Op) -> SSAValue:
    """Divide x by a power of the sum of squares of neighbouring features."""
    return N.local_response(
        o.b,
        o[0],
        _last(o),
        2 * o.int("depth_radius", 5) + 1,
        alpha=o.float("alpha", 1.0),
        beta=o.float("beta", 0.5),
        bias=o.float("bias", 1.0),
    )


@op("FusedBatchNorm", outputs="y batch_mean batch_variance reserve_space_1 reserve_space_2")
def fused_batch_norm(o: Op) -> Sequence[SSAValue]:
    """Apply batch normalisation with batch statistics (training) or given ones."""
    return _batch_norm(o)


@op(
    "FusedBatchNormV2",
    "FusedBatchNormV3",
    outputs="y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3",
)
def fused_batch_norm_later(o: Op) -> Sequence[SSAValue]:
    """Apply batch normalisation with scale and statistics in f32, whatever the type of the
    values.
    """
    # The space that V3 reserves for its gradient is empty here.
    return [*_batch_norm(o), o.b.fill(0, tensor_type((0,), f32))]


def _batch_norm(o: Op) -> list[SSAValue]:
    b, dims = o.b, o.dims()
    text = o.text("data_format", "NHWC")
    if len(dims) not in (4, 5) or text not in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
        refuse(f"the data format '{text}' does not fit a tensor of rank {len(dims)}")
    feature = 1 if text.startswith("NC") else len(dims) - 1
    if any(o.dims(i) != (dims[feature],) for i in (1, 2)):
        refuse(f"scale and offset must have {dims[feature]} elements, one a feature")
    epsilon = o.float("epsilon", 1e-4)
    x = b.convert(o[0], f32)
    scale, offset = b.convert(o[1], f32), b.convert(o[2], f32)
    training = o.bool("is_training", True)
    if training:
        mean, variance = N.batch_statistics(b, x, feature)
    else:
        mean, variance = b.convert(o[3], f32), b.convert(o[4], f32)
    y = N.batch_norm(b, x, scale, offset, mean, variance, epsilon, feature)
    y = b.convert(y, o.element())
    if not training:
        return [y, mean, variance, mean, variance]
    count = R.count_of(x, [d for d in range(len(dims)) if d != feature])
    # The returned value is the running estimate, not the batch's own.
    unbiased = b.binary_number("multiply", variance, count / max(count - 1, 1))
    factor = o.float("exponential_avg_factor", 1.0)
    running = [mean, unbiased]
    if factor != 1.0:
        given = [b.convert(o[3], f32), b.convert(o[4], f32)]
        running = [_mixed(b, old, new, factor) for old, new in zip(given, running, strict=True)]
    return [y, *running, mean, variance]


def _mixed(b: BlockBuilder, old: SSAValue, new: SSAValue, factor: float) -> SSAValue:
    return b.binary(
        "add",
        b.binary_number("multiply", old, 1 - factor),
        b.binary_number("multiply", new, factor),
    )
