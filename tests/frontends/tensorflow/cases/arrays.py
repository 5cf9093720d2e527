"""Shapes, joining and cutting, repeating, padding, blocks."""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.cases.case import Cases, text

CASES = Cases("arrays")
c, raw = CASES, tf.raw_ops
_a: Any
_b: Any
_i: Any
_k: Any
_p: Any
_s: Any
_d: Any
_r: Any
_t: Any

for _d in ((), (3,), (2, 0, 4), (2, 3, 4)):
    x = c.f32(*_d)
    c.add(f"Shape_{text(_d)}", lambda x: raw.Shape(input=x), x)
    c.add(f"Shape64_{text(_d)}", lambda x: raw.Shape(input=x, out_type=tf.int64), x)
    c.add(f"Size_{text(_d)}", lambda x: raw.Size(input=x), x)
    c.add(f"Rank_{text(_d)}", lambda x: raw.Rank(input=x), x)
c.add("ShapeN", lambda x, y: raw.ShapeN(input=[x, y]), c.f32(2, 3), c.f32(4))
for _a, _b in (
    ((2, 6), (3, 4)),
    ((2, 6), (-1,)),
    ((2, 6), (4, -1, 1)),
    ((1,), ()),
    ((0, 3), (3, -1)),
):
    c.add(
        f"Reshape_{text(_a)}_{text(_b)}",
        lambda x, b=_b: raw.Reshape(tensor=x, shape=list(b) or tf.constant([], tf.int32)),
        c.f32(*_a),
    )
c.add(
    "Reshape_by_shape",
    lambda x, y: raw.Reshape(tensor=x, shape=tf.shape(y)),
    c.f32(2, 6),
    c.f32(4, 3),
)
c.add(
    "Reshape_int64", lambda x: raw.Reshape(tensor=x, shape=tf.constant([3, 4], tf.int64)), c.f32(12)
)
for _i in (0, 1, -1, -3):
    c.add(f"ExpandDims_{_i}", lambda x, i=_i: raw.ExpandDims(input=x, axis=i), c.f32(2, 3))
for _k in ([], [0], [-1], [0, 2]):
    c.add(f"Squeeze_{text(_k)}", lambda x, k=_k: raw.Squeeze(input=x, axis=k), c.f32(1, 3, 1, 1))
for _p in ((1, 0, 2), (2, 1, 0), (0, 1, 2)):
    c.add(f"Transpose_{text(_p)}", lambda x, p=_p: raw.Transpose(x=x, perm=p), c.f32(2, 3, 4))
c.add("Transpose_4d", lambda x: raw.Transpose(x=x, perm=[0, 3, 1, 2]), c.f32(2, 3, 4, 5))
c.add("Transpose_int", lambda x: raw.Transpose(x=x, perm=[1, 0]), c.ints(0, 9, 4, 5))
c.add("ConjugateTranspose", lambda x: raw.ConjugateTranspose(x=x, perm=[1, 0]), c.f32(4, 5))
c.add("Fill", lambda x: raw.Fill(dims=[2, 3], value=x), c.f32())
c.add("Fill_const", lambda x: x + raw.Fill(dims=[2, 3], value=2.5), c.f32(2, 3))
c.add("BroadcastTo", lambda x: raw.BroadcastTo(input=x, shape=[2, 3, 4]), c.f32(3, 1))
c.add("BroadcastTo_scalar", lambda x: raw.BroadcastTo(input=x, shape=[5]), c.f32())
c.add(
    "BroadcastArgs",
    lambda x, y: tf.broadcast_to(x, raw.BroadcastArgs(s0=tf.shape(x), s1=tf.shape(y))),
    c.f32(3, 1),
    c.f32(4),
)
for _k in ((2, 1), (1, 3), (2, 2), (0, 1)):
    c.add(f"Tile_{text(_k)}", lambda x, k=_k: raw.Tile(input=x, multiples=k), c.f32(2, 3))
for _i in (0, 1, 2, -1):
    c.add(
        f"Pack_{_i}", lambda x, y, i=_i: raw.Pack(values=[x, y], axis=i), c.f32(2, 3), c.f32(2, 3)
    )
for _i in (0, 1, -1):
    c.add(
        f"Unpack_{_i}",
        lambda x, i=_i: raw.Unpack(value=x, num=[2, 3, 4][i], axis=i),
        c.f32(2, 3, 4),
    )
    c.add(
        f"ConcatV2_{_i}",
        lambda x, y, i=_i: raw.ConcatV2(values=[x, y, x], axis=i),
        c.f32(2, 3),
        c.f32(2, 3),
    )
c.add("Concat", lambda x, y: raw.Concat(concat_dim=1, values=[x, y]), c.f32(2, 3), c.f32(2, 1))
c.add("ConcatV2_empty", lambda x, y: raw.ConcatV2(values=[x, y], axis=0), c.f32(0, 3), c.f32(2, 3))
for _i in (0, 1, -1):
    c.add(f"Split_{_i}", lambda x, i=_i: raw.Split(axis=i, value=x, num_split=2), c.f32(2, 4, 6))
c.add(
    "SplitV", lambda x: raw.SplitV(value=x, size_splits=[1, 3, 2], axis=1, num_split=3), c.f32(2, 6)
)
c.add(
    "SplitV_rest",
    lambda x: raw.SplitV(value=x, size_splits=[1, -1], axis=0, num_split=2),
    c.f32(5, 2),
)
for _t in (np.float32, np.int32, np.bool_):
    c.add(
        f"ReverseV2_{np.dtype(_t).name}",
        lambda x: raw.ReverseV2(tensor=x, axis=[0, -1]),
        c.of(_t, 2, 3, 4),
    )
c.add("Reverse", lambda x: raw.Reverse(tensor=x, dims=[True, False, True]), c.f32(2, 3, 4))
for _s, _i in (((1,), (0,)), ((-2,), (1,)), ((3, 1), (0, 1)), ((7,), (0,))):
    c.add(
        f"Roll_{text(_s)}_{text(_i)}",
        lambda x, s=_s, i=_i: raw.Roll(input=x, shift=s, axis=i),
        c.f32(4, 5),
    )
for _r in ((0, 5, 1), (10, 0, -3), (2, 2, 1), (1, 8, 2)):
    c.add(
        f"Range_{text(_r)}",
        lambda x, r=_r: (
            x + tf.cast(tf.reduce_sum(raw.Range(start=r[0], limit=r[1], delta=r[2])), tf.float32)
        ),
        c.f32(3),
    )
    c.add(
        f"Range_values_{text(_r)}",
        lambda x, r=_r: (raw.Range(start=r[0], limit=r[1], delta=r[2]), x),
        c.f32(1),
    )
c.add("Range_float", lambda x: (raw.Range(start=0.0, limit=1.0, delta=0.3), x), c.f32(1))
c.add("LinSpace", lambda x: (raw.LinSpace(start=-1.0, stop=2.0, num=7), x), c.f32(1))
for _p in ([[1, 2], [0, 1]], [[0, 0], [3, 0]]):
    c.add(f"Pad_{text(sum(_p, []))}", lambda x, p=_p: raw.Pad(input=x, paddings=p), c.f32(3, 4))
    c.add(
        f"PadV2_{text(sum(_p, []))}",
        lambda x, y, p=_p: raw.PadV2(input=x, paddings=p, constant_values=y),
        c.f32(3, 4),
        c.f32(),
    )
    for _m in ("REFLECT", "SYMMETRIC"):
        c.add(
            f"MirrorPad_{_m}_{text(sum(_p, []))}",
            lambda x, p=_p, m=_m: raw.MirrorPad(input=x, paddings=p, mode=m),
            c.f32(4, 5),
        )
c.add(
    "Pad_4d",
    lambda x: raw.Pad(input=x, paddings=[[0, 0], [1, 1], [2, 2], [0, 0]]),
    c.f32(1, 3, 4, 2),
)
for _k in (2, 3):
    c.add(
        f"SpaceToDepth_{_k}",
        lambda x, k=_k: raw.SpaceToDepth(input=x, block_size=k),
        c.f32(2, 6, 12, 2),
    )
    c.add(
        f"DepthToSpace_{_k}",
        lambda x, k=_k: raw.DepthToSpace(input=x, block_size=k),
        c.f32(2, 2, 3, 36),
    )
c.add(
    "SpaceToBatch",
    lambda x: raw.SpaceToBatch(input=x, paddings=[[1, 1], [0, 0]], block_size=2),
    c.f32(1, 4, 6, 2),
)
c.add(
    "BatchToSpace",
    lambda x: raw.BatchToSpace(input=x, crops=[[1, 0], [0, 1]], block_size=2),
    c.f32(8, 3, 3, 2),
)
for _b, _p in (([2, 2], [[0, 0], [0, 0]]), ([2, 3], [[1, 1], [0, 2]]), ([4], [[0, 2]])):
    c.add(
        f"SpaceToBatchND_{text(_b)}",
        lambda x, b=_b, p=_p: raw.SpaceToBatchND(input=x, block_shape=b, paddings=p),
        c.f32(2, 6 if len(_b) == 1 else 4, 4, 3),
    )
for _b, _p in (([2, 2], [[0, 0], [0, 0]]), ([2, 3], [[1, 0], [0, 2]]), ([4], [[1, 2]])):
    c.add(
        f"BatchToSpaceND_{text(_b)}",
        lambda x, b=_b, p=_p: raw.BatchToSpaceND(input=x, block_shape=b, crops=p),
        c.f32(24, 3, 4, 2),
    )
c.add("EnsureShape", lambda x: raw.EnsureShape(input=x, shape=[None, 3]), c.f32(2, 3))
c.add(
    "PlaceholderWithDefault",
    lambda x: x + raw.PlaceholderWithDefault(input=tf.constant([1.0, 2.0]), shape=[2]),
    c.f32(2),
)
for _t in ("float32", "float16", "bfloat16", "int32", "int64", "uint8", "int16", "bool"):
    c.add(
        f"Const_{_t}",
        lambda x, t=_t: (
            tf.cast(
                tf.constant([1, 0, 3, 1], tf.as_dtype(t) if t != "bool" else tf.int32), tf.float32
            )
            + x
        ),
        c.f32(4),
    )
    c.add(
        f"Const_filled_{_t}",
        lambda x, t=_t: (
            tf.cast(
                raw.Fill(
                    dims=[2, 3],
                    value=tf.constant(1, tf.as_dtype(t)) if t != "bool" else tf.constant(True),
                ),
                tf.float32,
            )
            + x
        ),
        c.f32(2, 3),
    )
c.add("Const_zeros", lambda x: x + tf.zeros([3, 40]), c.f32(3, 40))
c.add(
    "RandomUniform",
    lambda x: x * 0 + raw.RandomUniform(shape=[64], dtype=tf.float32, seed=3),
    c.f32(64),
    numbers=False,
)
c.add(
    "RandomStandardNormal",
    lambda x: x * 0 + raw.RandomStandardNormal(shape=[64], dtype=tf.float32, seed=3),
    c.f32(64),
    numbers=False,
)
c.add(
    "RandomUniformInt",
    lambda x: x * 0 + raw.RandomUniformInt(shape=[64], minval=-3, maxval=9, seed=3),
    c.ints(0, 2, 64),
    numbers=False,
)
