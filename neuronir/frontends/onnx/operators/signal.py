"""Import Fourier transforms as products with constant matrices; ONNX stores complex pairs."""

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import np_dtype
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import along
from neuronir.frontends.graph.indexing import take
from neuronir.frontends.graph.linear import dot
from neuronir.frontends.graph.reductions import axis_from
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape

LONGEST = 4096
"""Above this length the matrix of a transform would be too large."""


def _matrix(n: int, parts: int, inverse: bool, onesided: bool) -> NDArray[np.float64]:
    """Return the matrix that transforms (element, real or imaginary part) for length n."""
    half = n // 2 + 1
    ins = half if inverse and onesided else n
    outs = half if onesided and not inverse else n
    angle = 2 * np.pi * (np.outer(np.arange(ins), np.arange(outs)) % n) / n
    cosine, sine = np.cos(angle), np.sin(angle)
    if inverse and onesided:
        # The other half of the spectrum is the conjugate of this half.
        twice = np.full((ins, 1), 2.0)
        twice[0] = 1
        if n % 2 == 0:
            twice[-1] = 1
        return np.stack([cosine * twice, -sine * twice], 1)[..., None] / n
    turned = sine if inverse else -sine
    real = np.stack([cosine, turned], -1)
    if parts == 1:
        return real[:, None] / (n if inverse else 1)
    imaginary = np.stack([-turned, cosine], -1)
    return np.stack([real, imaginary], 1) / (n if inverse else 1)


def transform(
    n: Node, value: SSAValue, axis: int, length: int | None, *, inverse: bool, onesided: bool
) -> SSAValue:
    """Compute the discrete Fourier transform along an axis; the last dimension holds the parts."""
    b, dims = n.b, shape(value)
    if dims[-1] not in (1, 2) or axis == len(dims) - 1:
        refuse(f"shape {list(dims)} is not a signal of real or complex numbers")
    half = inverse and onesided
    size = length or (2 * (dims[axis] - 1) if half else dims[axis])
    if not 1 <= size <= LONGEST:
        refuse(f"a transform of length {size} is not supported, 1 to {LONGEST} are")
    if (half and dims[-1] == 1) or (onesided and not inverse and dims[-1] == 2):
        refuse("onesided is for real signals, and for complex spectra of them")
    high = [0] * len(dims)
    high[axis] = (size // 2 + 1 if half else size) - dims[axis]
    value = b.pad(value, b.scalar(0, element(value)), [0] * len(dims), high)
    matrix = _matrix(size, dims[-1], inverse, onesided).astype(np_dtype(element(value)))
    last = len(dims) - 1
    result = dot(b, value, b.constant(matrix), ([axis, last], [0, 1]))
    order = list(range(last - 1))
    order.insert(axis, last - 1)
    return b.transpose(result, [*order, last])


@operator("DFT")
def _dft(n: Node) -> SSAValue:
    axis = n.integer("axis", 1) if n.opset < 20 else int(n.scalar(2, -2))
    length = None if n.get(1) is None else int(n.scalar(1))
    return transform(
        n,
        n[0],
        axis_from(axis, len(shape(n[0]))),
        length,
        inverse=n.flag("inverse"),
        onesided=n.flag("onesided"),
    )


@operator("STFT")
def _stft(n: Node) -> SSAValue:
    """Transform overlapping, weighted frames of a signal (batch, time, parts)."""
    b, step, window = n.b, int(n.scalar(1)), n.get(2)
    size = shape(window)[0] if window is not None else 0
    size = size if n.get(3) is None else int(n.scalar(3))
    count = 0 if size < 1 or step < 1 else 1 + (shape(n[0])[1] - size) // step
    if count < 1:
        refuse(f"frames of {size} every {step} do not fit a signal of shape {list(shape(n[0]))}")
    places = np.arange(count)[:, None] * step + np.arange(size)[None, :]
    frames = take(b, n[0], b.constant(places.astype(np.int32)), 1)
    if window is not None:
        frames = b.binary("multiply", frames, along(b, window, shape(frames), 2))
    return transform(n, frames, 2, size, inverse=False, onesided=n.flag("onesided", True))
