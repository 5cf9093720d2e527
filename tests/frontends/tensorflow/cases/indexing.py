"""Gathers, scatters, segments, one-hot, top-k, diagonals and bands."""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.cases.case import Cases, text

CASES = Cases("indexing")
c, raw = CASES, tf.raw_ops
_d: Any
_a: Any
_k: Any

for _axis in (0, 1, -1):
    for _d in ((), (3,), (2, 2)):
        c.add(
            f"GatherV2_{_axis}_{text(_d)}",
            lambda x, i, a=_axis: raw.GatherV2(params=x, indices=i, axis=a),
            c.f32(4, 5, 6),
            c.ints(0, 4, *_d),
        )
c.add(
    "GatherV2_batch",
    lambda x, i: raw.GatherV2(params=x, indices=i, axis=1, batch_dims=1),
    c.f32(3, 4, 5),
    c.ints(0, 4, 3, 2),
)
c.add(
    "GatherV2_batch_2",
    lambda x, i: raw.GatherV2(params=x, indices=i, axis=2, batch_dims=1),
    c.f32(3, 4, 5),
    c.ints(0, 5, 3, 2),
)
c.add("GatherV2_const", lambda x: raw.GatherV2(params=x, indices=[3, 0, 0, 2], axis=0), c.f32(4, 5))
c.add(
    "GatherV2_int64",
    lambda x, i: raw.GatherV2(params=x, indices=i, axis=0),
    c.f32(4, 5),
    c.ints(0, 4, 3, dtype=np.int64),
)
c.add(
    "GatherV2_int",
    lambda x, i: raw.GatherV2(params=x, indices=i, axis=0),
    c.ints(0, 99, 6),
    c.ints(0, 6, 9),
)
c.add("Gather", lambda x, i: raw.Gather(params=x, indices=i), c.f32(4, 5), c.ints(0, 4, 3))
for _d, _k in (((3, 1), "row"), ((3, 2), "element"), ((2, 2, 1), "outer"), ((1, 0), "whole")):
    c.add(
        f"GatherNd_{_k}",
        lambda x, i: raw.GatherNd(params=x, indices=i),
        c.f32(4, 4),
        c.ints(0, 4, *_d),
    )
c.add(
    "ScatterNd",
    lambda i, u: raw.ScatterNd(indices=i, updates=u, shape=[6]),
    np.array([[1], [4], [1]], np.int32),
    c.f32(3),
)
c.add(
    "ScatterNd_rows",
    lambda i, u: raw.ScatterNd(indices=i, updates=u, shape=[5, 3]),
    np.array([[4], [0]], np.int32),
    c.f32(2, 3),
)
c.add(
    "ScatterNd_elements",
    lambda i, u: raw.ScatterNd(indices=i, updates=u, shape=[3, 3]),
    np.array([[0, 1], [2, 2]], np.int32),
    c.f32(2),
)
for _n in "Update Add Sub Max Min".split():
    c.add(
        f"TensorScatter{_n}",
        lambda x, u, n=_n: getattr(raw, f"TensorScatter{n}")(
            tensor=x, indices=[[2], [0]], updates=u
        ),
        c.f32(4, 3),
        c.f32(2, 3),
    )
_ids = np.array([0, 2, 0, 3, 2], np.int32)
for _n in "Sum Max Min Prod".split():
    c.add(
        f"UnsortedSegment{_n}",
        lambda x, i, n=_n: getattr(raw, f"UnsortedSegment{n}")(
            data=x, segment_ids=i, num_segments=5
        ),
        c.f32(5, 3),
        _ids,
    )
    c.add(
        f"Segment{_n}",
        lambda x, n=_n: getattr(raw, f"Segment{n}")(data=x, segment_ids=[0, 0, 1, 3, 3]),
        c.f32(5, 3),
    )
c.add(
    "UnsortedSegmentSum_negative",
    lambda x, i: raw.UnsortedSegmentSum(data=x, segment_ids=i, num_segments=4),
    c.f32(5),
    np.array([0, -1, 1, 3, -1], np.int32),
)
c.add(
    "UnsortedSegmentSum_2d",
    lambda x, i: raw.UnsortedSegmentSum(data=x, segment_ids=i, num_segments=4),
    c.f32(2, 3, 2),
    c.ints(0, 4, 2, 3),
)
for _axis in (-1, 0, 1):
    c.add(
        f"OneHot_{_axis}",
        lambda i, a=_axis: raw.OneHot(indices=i, depth=5, on_value=1.0, off_value=0.0, axis=a),
        c.ints(0, 5, 3, 2),
    )
c.add(
    "OneHot_values",
    lambda i: raw.OneHot(indices=i, depth=4, on_value=2.5, off_value=-1.0),
    np.array([0, 3, -1, 7], np.int32),
)
c.add(
    "OneHot_int",
    lambda i: raw.OneHot(indices=i, depth=4, on_value=7, off_value=-2),
    c.ints(0, 4, 6),
)
c.add(
    "InvertPermutation", lambda i: raw.InvertPermutation(x=i), np.array([3, 0, 4, 1, 2], np.int32)
)
for _k in (1, 3, 6):
    c.add(f"TopKV2_{_k}", lambda x, k=_k: raw.TopKV2(input=x, k=k), c.f32(4, 6))
c.add("TopKV2_equal", lambda x: raw.TopKV2(input=x, k=4), np.array([1, 3, 3, 2, 3, 1], np.float32))
c.add("TopKV2_int", lambda x: raw.TopKV2(input=x, k=2), c.ints(0, 50, 3, 7))
for _l, _u in ((-1, -1), (0, -1), (-1, 0), (1, 2), (0, 0)):
    c.add(
        f"MatrixBandPart_{_l}_{_u}",
        lambda x, lo=_l, u=_u: raw.MatrixBandPart(input=x, num_lower=lo, num_upper=u),
        c.f32(2, 4, 5),
    )
for _d in ((3,), (2, 3)):
    c.add(f"MatrixDiag_{text(_d)}", lambda x: raw.MatrixDiag(diagonal=x), c.f32(*_d))
    c.add(
        f"MatrixDiagV3_{text(_d)}",
        lambda x: raw.MatrixDiagV3(diagonal=x, k=0, num_rows=-1, num_cols=-1, padding_value=0.0),
        c.f32(*_d),
    )
for _k in (-1, 1, 2):
    c.add(
        f"MatrixDiagV3_k{_k}",
        lambda x, k=_k: raw.MatrixDiagV3(
            diagonal=x, k=k, num_rows=-1, num_cols=-1, padding_value=9.0
        ),
        c.f32(2, 3),
    )
for _a in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
    c.add(
        f"MatrixDiagV3_{_a}",
        lambda x, a=_a: raw.MatrixDiagV3(
            diagonal=x, k=(-1, 1), num_rows=4, num_cols=4, padding_value=0.0, align=a
        ),
        c.f32(2, 3, 4),
    )
    c.add(
        f"MatrixDiagPartV3_{_a}",
        lambda x, a=_a: raw.MatrixDiagPartV3(input=x, k=(-2, 1), padding_value=7.0, align=a),
        c.f32(2, 4, 5),
    )
    c.add(
        f"MatrixSetDiagV3_{_a}",
        lambda x, d, a=_a: raw.MatrixSetDiagV3(input=x, diagonal=d, k=(-1, 1), align=a),
        c.f32(2, 4, 4),
        c.f32(2, 3, 4),
    )
c.add(
    "MatrixDiagV2",
    lambda x: raw.MatrixDiagV2(diagonal=x, k=1, num_rows=4, num_cols=5, padding_value=0.0),
    c.f32(4),
)
c.add("MatrixDiagPart", lambda x: raw.MatrixDiagPart(input=x), c.f32(2, 4, 3))
c.add(
    "MatrixDiagPartV2",
    lambda x: raw.MatrixDiagPartV2(input=x, k=(-1, 0), padding_value=0.0),
    c.f32(3, 4),
)
c.add(
    "MatrixSetDiag",
    lambda x, d: raw.MatrixSetDiag(input=x, diagonal=d),
    c.f32(2, 4, 3),
    c.f32(2, 3),
)
c.add(
    "MatrixSetDiagV2",
    lambda x, d: raw.MatrixSetDiagV2(input=x, diagonal=d, k=-1),
    c.f32(4, 4),
    c.f32(3),
)
c.add("Diag", lambda x: raw.Diag(diagonal=x), c.f32(2, 3))
c.add("DiagPart", lambda x: raw.DiagPart(input=x), c.f32(2, 3, 2, 3))
