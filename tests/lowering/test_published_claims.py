"""Single claims of the compilers' release notes (docs/features.md D29, H12)."""

import numpy as np

from tests.defects.programs import right


def test_rsqrt_of_large_and_small_values() -> None:
    text = "HloModule m\n\nENTRY e {\n  x = f32[7] parameter(0)\n  ROOT r = f32[7] rsqrt(x)\n}\n"
    right(text, [np.array([1e20, 1e25, 1e29, 1e35, 3e38, 1e-30, 1e-37], np.float32)])


def test_sum_of_booleans_is_or() -> None:
    text = (
        "HloModule m\n\nENTRY e {\n  x = pred[4] parameter(0)\n  y = pred[4] parameter(1)\n"
        "  ROOT r = pred[4] add(x, y)\n}\n"
    )
    right(text, [np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 0], bool)])
