"""Resizing with all ways to place pixels, crops, colours."""

import itertools

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.cases.case import Cases

CASES = Cases("images")
c, raw = CASES, tf.raw_ops

PLACES: tuple[dict[str, bool], ...] = ({}, {"align_corners": True}, {"half_pixel_centers": True})
SIZES = ((8, 10), (3, 2), (4, 5), (1, 1), (7, 13))
for _n, _k, _s in itertools.product(("NearestNeighbor", "Bilinear", "Bicubic"), PLACES, SIZES):
    c.add(
        f"Resize{_n}_{'_'.join(_k) or 'legacy'}_{_s[0]}x{_s[1]}",
        lambda x, n=_n, k=_k, s=_s: getattr(raw, f"Resize{n}")(images=x, size=s, **k),
        c.f32(2, 4, 5, 3),
    )
for _n in ("NearestNeighbor", "Bilinear"):
    c.add(
        f"Resize{_n}_int",
        lambda x, n=_n: getattr(raw, f"Resize{n}")(images=x, size=[6, 7]),
        c.ints(0, 255, 1, 3, 4, 2),
    )
    c.add(
        f"Resize{_n}_large",
        lambda x, n=_n: getattr(raw, f"Resize{n}")(images=x, size=[60, 70]),
        c.f32(1, 19, 23, 1),
    )
_boxes = np.array(
    [[0.1, 0.2, 0.9, 0.8], [0.0, 0.0, 1.0, 1.0], [0.8, 0.7, 0.2, 0.1], [-0.2, 0.3, 1.3, 0.6]],
    np.float32,
)
_which = np.array([0, 1, 1, 0], np.int32)
for _m, _s in itertools.product(("bilinear", "nearest"), ((3, 4), (1, 1), (9, 8))):
    c.add(
        f"CropAndResize_{_m}_{_s[0]}",
        lambda x, b, i, m=_m, s=_s: raw.CropAndResize(
            image=x, boxes=b, box_ind=i, crop_size=s, method=m, extrapolation_value=0.5
        ),
        c.f32(2, 6, 7, 3),
        _boxes,
        _which,
    )
c.add("RGBToHSV", lambda x: raw.RGBToHSV(images=x), c.unit(4, 5, 3))
c.add(
    "RGBToHSV_grey",
    lambda x: raw.RGBToHSV(images=x),
    np.array([[0, 0, 0], [0.5, 0.5, 0.5], [1, 0, 0], [0, 1, 1], [1, 1, 0]], np.float32),
)
c.add("HSVToRGB", lambda x: raw.HSVToRGB(images=x), c.unit(4, 5, 3))
for _f in (0.0, 0.5, 1.7):
    c.add(
        f"AdjustContrastv2_{_f}",
        lambda x, f=_f: raw.AdjustContrastv2(images=x, contrast_factor=f),
        c.unit(2, 4, 5, 3),
    )
    c.add(
        f"AdjustSaturation_{_f}",
        lambda x, f=_f: raw.AdjustSaturation(images=x, scale=f),
        c.unit(2, 4, 5, 3),
    )
for _f in (-0.3, 0.0, 0.6):
    c.add(f"AdjustHue_{_f}", lambda x, f=_f: raw.AdjustHue(images=x, delta=f), c.unit(2, 4, 5, 3))
