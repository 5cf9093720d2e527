"""Reductions over each choice of axes, extremes, running sums."""

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.cases.case import BF16, Cases, text

CASES = Cases("reductions")
c, raw = CASES, tf.raw_ops

for _n in "Sum Mean Max Min Prod EuclideanNorm".split():
    for _axes in ((0,), (-1,), (0, 2), (0, 1, 2), ()):
        for _keep in (False, True):
            c.add(
                f"{_n}_{text(_axes)}_{_keep}",
                lambda x, n=_n, a=_axes, k=_keep: getattr(raw, n)(
                    input=x, axis=tf.constant(a, tf.int32), keep_dims=k
                ),
                c.f32(3, 4, 5),
            )
for _n in "Sum Max Min Prod Mean".split():
    c.add(f"{_n}_int", lambda x, n=_n: getattr(raw, n)(input=x, axis=[1]), c.ints(-4, 5, 3, 4))
for _n in "Sum Mean Max".split():
    for _t in (np.float16, BF16):
        c.add(
            f"{_n}_{np.dtype(_t).name}",
            lambda x, n=_n: getattr(raw, n)(input=x, axis=[1]),
            c.of(_t, 3, 8),
        )
c.add("Sum_scalar_axis", lambda x: raw.Sum(input=x, axis=1), c.f32(3, 4))
c.add("Sum_int64_axis", lambda x: raw.Sum(input=x, axis=tf.constant([0], tf.int64)), c.f32(3, 4))
for _n in "All Any".split():
    for _axes in ((0,), (0, 1)):
        c.add(
            f"{_n}_{text(_axes)}",
            lambda x, n=_n, a=_axes: getattr(raw, n)(input=x, axis=a),
            c.bools(3, 4),
        )
for _n in "ArgMax ArgMin".split():
    for _axis in (0, 1, -1):
        for _t in (tf.int32, tf.int64):
            c.add(
                f"{_n}_{_axis}_{_t.name}",
                lambda x, n=_n, a=_axis, t=_t: getattr(raw, n)(input=x, dimension=a, output_type=t),
                c.f32(4, 5, 6),
            )
    c.add(
        f"{_n}_equal",
        lambda x, n=_n: getattr(raw, n)(input=x, dimension=0, output_type=tf.int32),
        np.array([1, 3, 3, 1], np.float32),
    )
    c.add(
        f"{_n}_int",
        lambda x, n=_n: getattr(raw, n)(input=x, dimension=1, output_type=tf.int32),
        c.ints(0, 9, 4, 5),
    )
for _n in "Cumsum Cumprod".split():
    for _axis in (0, -1):
        for _e in (False, True):
            for _r in (False, True):
                c.add(
                    f"{_n}_{_axis}_{_e}_{_r}",
                    lambda x, n=_n, a=_axis, e=_e, r=_r: getattr(raw, n)(
                        x=x, axis=a, exclusive=e, reverse=r
                    ),
                    c.f32(3, 5),
                )
c.add("Cumsum_int", lambda x: raw.Cumsum(x=x, axis=1), c.ints(0, 9, 3, 5))
c.add("L2Loss", lambda x: raw.L2Loss(t=x), c.f32(3, 4))
