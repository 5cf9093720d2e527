"""Softmax, losses, batch and local response normalisation."""

import tensorflow as tf

from tests.frontends.tensorflow.cases.case import Cases, text

CASES = Cases("normalization")
c, raw = CASES, tf.raw_ops

for _d in ((5,), (3, 5), (2, 3, 4)):
    for _n in ("Softmax", "LogSoftmax"):
        c.add(f"{_n}_{text(_d)}", lambda x, n=_n: getattr(raw, n)(logits=x), c.f32(*_d) * 3)
for _n in ("Softmax", "LogSoftmax"):
    c.add(f"{_n}_half", lambda x, n=_n: getattr(raw, n)(logits=tf.cast(x, tf.half)), c.f32(3, 5))
    c.add(f"{_n}_large", lambda x, n=_n: getattr(raw, n)(logits=x), c.f32(3, 5) * 80)
c.add(
    "SoftmaxCrossEntropy",
    lambda x, y: raw.SoftmaxCrossEntropyWithLogits(features=x, labels=tf.nn.softmax(y)),
    c.f32(4, 5),
    c.f32(4, 5),
)
c.add(
    "SoftmaxCrossEntropy_broadcast",
    lambda x, y: raw.SoftmaxCrossEntropyWithLogits(features=x, labels=y),
    c.f32(4, 5),
    c.unit(1, 5),
)
c.add(
    "SparseSoftmaxCrossEntropy",
    lambda x, y: raw.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=y),
    c.f32(4, 5),
    c.ints(0, 5, 4),
)
for _k in ({}, {"depth_radius": 2, "bias": 0.5, "alpha": 0.3, "beta": 0.75}):
    c.add(
        f"LRN_{text(list(_k.values()))}", lambda x, k=_k: raw.LRN(input=x, **k), c.f32(2, 3, 3, 8)
    )
VERSIONS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
for _n in VERSIONS:
    c.add(
        f"{_n}_inference",
        lambda x, s, o, m, v, n=_n: getattr(raw, n)(
            x=x, scale=s, offset=o, mean=m, variance=v, epsilon=1e-3, is_training=False
        )[0],
        c.f32(2, 4, 5, 3),
        c.f32(3),
        c.f32(3),
        c.f32(3),
        c.positive(3),
    )
    for _f in (1.0, 0.1):
        c.add(
            f"{_n}_training_{_f}",
            lambda x, s, o, m, v, n=_n, f=_f: list(
                getattr(raw, n)(
                    x=x,
                    scale=s,
                    offset=o,
                    mean=m if f != 1 else [],
                    variance=v if f != 1 else [],
                    epsilon=1e-3,
                    is_training=True,
                    exponential_avg_factor=f,
                )
            )[:3],
            c.f32(2, 4, 5, 3),
            c.f32(3),
            c.f32(3),
            c.f32(3),
            c.positive(3),
        )
c.add(
    "FusedBatchNormV3_half",
    lambda x, s, o, m, v: raw.FusedBatchNormV3(
        x=tf.cast(x, tf.half), scale=s, offset=o, mean=m, variance=v, is_training=False
    )[0],
    c.f32(2, 4, 5, 3),
    c.f32(3),
    c.f32(3),
    c.f32(3),
    c.positive(3),
)
c.add(
    "BatchNormalization",
    lambda x, s, o, m, v: tf.nn.batch_normalization(x, m, v, o, s, 1e-3),
    c.f32(2, 4, 3),
    c.f32(3),
    c.f32(3),
    c.f32(3),
    c.positive(3),
)
c.add(
    "LayerNorm",
    lambda x, s, o: tf.nn.batch_normalization(
        x, *tf.nn.moments(x, [-1], keepdims=True), o, s, 1e-6
    ),
    c.f32(2, 4, 8),
    c.f32(8),
    c.f32(8),
)
c.add("L2Normalize", lambda x: tf.nn.l2_normalize(x, -1), c.f32(3, 8))
c.add("Gelu", lambda x: tf.nn.gelu(x), c.f32(4, 9) * 3)
c.add("Gelu_tanh", lambda x: tf.nn.gelu(x, approximate=True), c.f32(4, 9) * 3)
c.add("Swish", lambda x: tf.nn.swish(x), c.f32(4, 9) * 3)
c.add("Moments", lambda x: tf.nn.moments(x, [0, 1]), c.f32(3, 4, 5))
