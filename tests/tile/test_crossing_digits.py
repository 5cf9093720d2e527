"""Operands of one op whose free digits split a dimension at positions that do not nest."""

from typing import Any

import numpy as np
import pytest

from neuronir.passes.lowering.layouts.layout import Atom, atom
from neuronir.passes.tile.layouts.maps import Partition
from neuronir.passes.tile.layouts.place import crossing


def columns(*sizes: int, reordered: bool = True) -> Partition:
    """The digits of a dimension, outermost first, with the outer ones contiguous if reordered."""
    stride, step = 1, 1
    found: list[tuple[int, int]] = []
    for size in reversed(sizes):
        found.insert(0, (size, stride))
        stride *= size
    out: list[tuple[Atom, int]] = []
    for size, at in found if not reordered else reversed(found):
        out.append((atom(size, at), step))
        step *= size
    return tuple(out)


@pytest.mark.parametrize(
    ("left", "right", "cross"),
    [
        ((16, 13), (104, 2), True),
        ((16, 13), (4, 52), False),
        ((208,), (104, 2), False),
        ((2, 104), (104, 2), False),
        ((8, 26), (52, 4), True),
    ],
)
def test_digits_cross(left: tuple[int, ...], right: tuple[int, ...], cross: bool) -> None:
    assert crossing(columns(*left), [columns(*right)]) is cross
    assert crossing(columns(*right), [columns(*left)]) is cross
    assert not crossing(columns(*left), [])


@pytest.mark.slow
def test_a_residual_before_a_strided_convolution() -> None:
    """One operand of the sum is in the order of PSUM's banks (16 by 13 columns of 208), the other
    has even and odd columns apart, as the next convolution reads them."""
    pytest.importorskip("jax")
    from neuronir.driver import CompileOptions, compile_text
    from tests.acceptance import networks
    from tests.oracle import hlo_text

    def network(w: networks.Weights, x: Any) -> Any:
        x = networks.leaky(networks.conv(w, x, 32))
        x = networks.leaky(networks.conv(w, x, 64, 3, 2))
        y = networks.leaky(networks.conv(w, x, 32, 1))
        x = x + networks.leaky(networks.conv(w, y, 64, gain=0.5))
        return networks.leaky(networks.conv(w, x, 128, 3, 2))

    function, args = networks.with_weights(network, np.ones((1, 416, 416, 3), np.float32))
    options = CompileOptions(tiling="always", compile_to="virtual")
    assert compile_text(hlo_text(function, args), "inf1", options).tiled
