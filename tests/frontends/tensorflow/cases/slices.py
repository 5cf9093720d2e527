"""Slice and StridedSlice with all masks."""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.cases.case import Cases, text

CASES = Cases("slices")
c, raw = CASES, tf.raw_ops

for _b, _s in (
    ([0, 1, 1], [2, 2, 3]),
    ([1, 0, 2], [-1, -1, 2]),
    ([0, 0, 0], [2, 4, 5]),
    ([1, 2, 3], [0, 1, 1]),
):
    c.add(
        f"Slice_{text(_b)}_{text(_s)}",
        lambda x, b=_b, s=_s: raw.Slice(input=x, begin=b, size=s),
        c.f32(2, 4, 5),
    )
c.add(
    "Slice_dynamic",
    lambda x, b: raw.Slice(input=x, begin=b, size=[2, 3]),
    c.f32(5, 6),
    np.array([1, 2], np.int32),
)

N = None
INDICES: dict[str, Any] = {
    "element": np.s_[1],
    "last": np.s_[-1],
    "row": np.s_[:, 2],
    "range": np.s_[1:3],
    "step": np.s_[::2, 1::2],
    "back": np.s_[::-1],
    "back_step": np.s_[4:0:-2, ::-1],
    "ellipsis": np.s_[..., 1],
    "ellipsis_middle": np.s_[1, ..., 2],
    "ellipsis_empty": np.s_[1, ..., 2, 3],
    "new": np.s_[:, N, 1:3],
    "new_first": np.s_[N],
    "new_last": np.s_[..., N],
    "new_both": np.s_[N, 1, ..., N, 0:2],
    "negative": np.s_[-3:-1, -2:],
    "beyond": np.s_[2:100, -100:2],
    "empty": np.s_[3:1],
    "all": np.s_[:, :, :],
    "shrink_all": np.s_[1, 2, 3],
    "mixed": np.s_[1:4:2, N, ..., -1],
    "back_all": np.s_[::-1, ::-1, ::-1],
    "back_shrink": np.s_[3:0:-1, -1, ::3],
}
for _n, _i in INDICES.items():
    c.add(f"StridedSlice_{_n}", lambda x, i=_i: x[i], c.f32(5, 4, 6))
    c.add(f"StridedSlice_int_{_n}", lambda x, i=_i: x[i], c.ints(0, 99, 5, 4, 6))
# Every combination of the masks for begin, end and shrinking, straight on the operator.
for _begin in range(4):
    for _end in range(4):
        for _shrink in range(4):
            c.add(
                f"StridedSlice_masks_{_begin}_{_end}_{_shrink}",
                lambda x, b=_begin, e=_end, s=_shrink: raw.StridedSlice(
                    input=x,
                    begin=[1, 2],
                    end=[4, 3],
                    strides=[1, 1],
                    begin_mask=b,
                    end_mask=e,
                    shrink_axis_mask=s,
                ),
                c.f32(5, 4),
            )
for _ellipsis in (0, 1, 2):
    for _new in (0, 1, 2, 3):
        c.add(
            f"StridedSlice_shapes_{_ellipsis}_{_new}",
            lambda x, e=_ellipsis, n=_new: raw.StridedSlice(
                input=x, begin=[1, 0], end=[3, 2], strides=[1, 1], ellipsis_mask=e, new_axis_mask=n
            ),
            c.f32(4, 3, 2),
        )
c.add("StridedSlice_dynamic", lambda x, i: x[i], c.f32(5, 4), np.array(3, np.int32))
c.add("StridedSlice_dynamic_negative", lambda x, i: x[i], c.f32(5, 4), np.array(-2, np.int32))
c.add(
    "StridedSlice_of_shape",
    lambda x: tf.reshape(x, [tf.shape(x)[0] * tf.shape(x)[1], -1]),
    c.f32(2, 3, 4),
)
