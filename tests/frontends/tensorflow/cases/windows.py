"""Convolutions and pooling: layouts, strides, dilations, padding."""

import itertools
from typing import Any

import tensorflow as tf

from tests.frontends.tensorflow.cases.case import Cases

CASES = Cases("windows")
c, raw = CASES, tf.raw_ops

EXPLICIT = [0, 0, 1, 2, 0, 1, 0, 0]


def conv(name: str, dims: tuple[int, ...], kernel: tuple[int, ...], **options: Any) -> None:
    c.add(name, lambda x, k: raw.Conv2D(input=x, filter=k, **options), c.f32(*dims), c.f32(*kernel))


for _p, _s, _k in itertools.product(("SAME", "VALID"), (1, 2, 3), (1, 2, 3)):
    conv(
        f"Conv2D_{_p}_s{_s}_k{_k}", (2, 7, 8, 3), (_k, _k, 3, 4), strides=[1, _s, _s, 1], padding=_p
    )
for _p, _d in itertools.product(("SAME", "VALID"), (2, 3)):
    conv(
        f"Conv2D_{_p}_d{_d}",
        (1, 9, 10, 2),
        (2, 3, 2, 4),
        strides=[1, 1, 1, 1],
        padding=_p,
        dilations=[1, _d, _d, 1],
    )
conv(
    "Conv2D_explicit",
    (1, 6, 7, 2),
    (3, 3, 2, 4),
    strides=[1, 2, 1, 1],
    padding="EXPLICIT",
    explicit_paddings=EXPLICIT,
)
conv("Conv2D_uneven", (1, 8, 9, 2), (3, 2, 2, 4), strides=[1, 2, 3, 1], padding="SAME")
conv("Conv2D_groups", (1, 6, 6, 4), (3, 3, 2, 6), strides=[1, 1, 1, 1], padding="SAME")
conv("Conv2D_1x1", (2, 5, 5, 8), (1, 1, 8, 16), strides=[1, 1, 1, 1], padding="VALID")
for _t in ("half", "bfloat16"):
    c.add(
        f"Conv2D_{_t}",
        lambda x, k, t=_t: raw.Conv2D(
            input=tf.cast(x, t), filter=tf.cast(k, t), strides=[1, 1, 1, 1], padding="SAME"
        ),
        c.f32(1, 5, 5, 3),
        c.f32(3, 3, 3, 4),
    )
for _p, _s, _m in itertools.product(("SAME", "VALID"), (1, 2), (1, 2)):
    c.add(
        f"Depthwise_{_p}_s{_s}_m{_m}",
        lambda x, k, p=_p, s=_s: raw.DepthwiseConv2dNative(
            input=x, filter=k, strides=[1, s, s, 1], padding=p
        ),
        c.f32(2, 7, 8, 3),
        c.f32(3, 3, 3, _m),
    )
c.add(
    "Depthwise_explicit",
    lambda x, k: raw.DepthwiseConv2dNative(
        input=x, filter=k, strides=[1, 1, 1, 1], padding="EXPLICIT", explicit_paddings=EXPLICIT
    ),
    c.f32(1, 5, 6, 3),
    c.f32(3, 3, 3, 1),
)
c.add(
    "Depthwise_dilated",
    lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME", dilations=[2, 2]),
    c.f32(1, 8, 8, 3),
    c.f32(3, 3, 3, 2),
)
for _p, _s in itertools.product(("SAME", "VALID"), (1, 2)):
    c.add(
        f"Conv3D_{_p}_s{_s}",
        lambda x, k, p=_p, s=_s: raw.Conv3D(input=x, filter=k, strides=[1, s, s, s, 1], padding=p),
        c.f32(1, 5, 6, 7, 2),
        c.f32(3, 2, 3, 2, 4),
    )
    c.add(
        f"Conv2DBackpropInput_{_p}_s{_s}",
        lambda g, k, p=_p, s=_s: raw.Conv2DBackpropInput(
            input_sizes=[2, 8, 9, 3] if p == "SAME" else [2, 8, 9, 3],
            filter=k,
            out_backprop=g,
            strides=[1, s, s, 1],
            padding=p,
        ),
        c.f32(
            2,
            *(
                (-(-8 // _s), -(-9 // _s))
                if _p == "SAME"
                else ((8 - 3) // _s + 1, (9 - 3) // _s + 1)
            ),
            5,
        ),
        c.f32(3, 3, 3, 5),
    )
c.add(
    "Conv2DBackpropInput_explicit",
    lambda g, k: raw.Conv2DBackpropInput(
        input_sizes=[1, 6, 7, 2],
        filter=k,
        out_backprop=g,
        strides=[1, 2, 1, 1],
        padding="EXPLICIT",
        explicit_paddings=EXPLICIT,
    ),
    c.f32(1, 4, 6, 4),
    c.f32(3, 3, 2, 4),
)
c.add(
    "Conv2DTranspose",
    lambda x, k: tf.nn.conv2d_transpose(x, k, [1, 8, 8, 3], 2, "SAME"),
    c.f32(1, 4, 4, 5),
    c.f32(4, 4, 3, 5),
)
c.add(
    "Conv3DBackpropInputV2",
    lambda g, k: raw.Conv3DBackpropInputV2(
        input_sizes=[1, 4, 6, 6, 2],
        filter=k,
        out_backprop=g,
        strides=[1, 1, 2, 2, 1],
        padding="SAME",
    ),
    c.f32(1, 4, 3, 3, 3),
    c.f32(3, 3, 3, 2, 3),
)
c.add(
    "DepthwiseBackpropInput",
    lambda g, k: raw.DepthwiseConv2dNativeBackpropInput(
        input_sizes=[1, 6, 6, 3], filter=k, out_backprop=g, strides=[1, 1, 1, 1], padding="SAME"
    ),
    c.f32(1, 6, 6, 6),
    c.f32(3, 3, 3, 2),
)
for _n, _p, _s, _k in itertools.product(("MaxPool", "AvgPool"), ("SAME", "VALID"), (1, 2), (2, 3)):
    _key = "input" if _n == "MaxPool" else "value"
    c.add(
        f"{_n}_{_p}_s{_s}_k{_k}",
        lambda x, n=_n, p=_p, s=_s, k=_k, key=_key: getattr(raw, n)(
            **{key: x}, ksize=[1, k, k, 1], strides=[1, s, s, 1], padding=p
        ),
        c.f32(2, 7, 8, 3),
    )
for _n in ("MaxPool3D", "AvgPool3D"):
    for _p in ("SAME", "VALID"):
        c.add(
            f"{_n}_{_p}",
            lambda x, n=_n, p=_p: getattr(raw, n)(
                input=x, ksize=[1, 2, 3, 2, 1], strides=[1, 2, 1, 2, 1], padding=p
            ),
            c.f32(1, 5, 6, 7, 2),
        )
c.add(
    "MaxPool_explicit",
    lambda x: raw.MaxPool(
        input=x,
        ksize=[1, 3, 3, 1],
        strides=[1, 2, 2, 1],
        padding="EXPLICIT",
        explicit_paddings=EXPLICIT,
    ),
    c.f32(1, 6, 7, 2),
)
c.add(
    "MaxPool_uneven",
    lambda x: raw.MaxPool(input=x, ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1], padding="SAME"),
    c.f32(1, 6, 7, 2),
)
c.add(
    "MaxPoolV2",
    lambda x: raw.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"),
    c.f32(1, 6, 6, 2),
)
for _b in (False, True):
    c.add(
        f"MaxPoolWithArgmax_{_b}",
        lambda x, b=_b: raw.MaxPoolWithArgmax(
            input=x,
            ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1],
            padding="SAME",
            include_batch_in_index=b,
        ),
        c.f32(2, 5, 6, 2),
    )
c.add(
    "AvgPool_global",
    lambda x: raw.AvgPool(value=x, ksize=[1, 7, 7, 1], strides=[1, 7, 7, 1], padding="VALID"),
    c.f32(1, 7, 7, 4),
)
c.add(
    "AvgPool_half",
    lambda x: raw.AvgPool(
        value=tf.cast(x, tf.half), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"
    ),
    c.f32(1, 5, 5, 3),
)
