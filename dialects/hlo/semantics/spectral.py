"""Compute Fourier transforms."""

from collections.abc import Sequence

import numpy as np

from neuronir.dialects.hlo.semantics.numeric import Array


def fft(x: Array, kind: str, lengths: Sequence[int]) -> Array:
    """Compute FFT, IFFT, RFFT or IRFFT over the last len(lengths) dimensions, in f64."""
    axes = tuple(range(-len(lengths), 0))
    single = x.dtype in (np.dtype(np.float32), np.dtype(np.complex64))
    complex_type = np.dtype(np.complex64 if single else np.complex128)
    if kind == "FFT":
        return np.asarray(np.fft.fftn(x, axes=axes)).astype(complex_type)
    if kind == "IFFT":
        return np.asarray(np.fft.ifftn(x, axes=axes)).astype(complex_type)
    if kind == "RFFT":
        return np.asarray(np.fft.rfftn(x, axes=axes)).astype(complex_type)
    result = np.asarray(np.fft.irfftn(x, s=tuple(lengths), axes=axes))
    return result.astype(np.float32 if single else np.float64)
