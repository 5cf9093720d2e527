"""Compute general convolutions as matrix products over groups of kernel taps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from neuronir.dialects.hlo.semantics.convert import convert
from neuronir.dialects.hlo.semantics.data_movement import pad
from neuronir.dialects.hlo.semantics.linear import accumulation_type, matmul
from neuronir.dialects.hlo.semantics.numeric import Array

# The patches gathered for one product have at most this many elements (128 MB of f32).
_PATCH_ELEMENTS = 1 << 25
# Groups with at most this many products per element are summed elementwise, which avoids the
# overhead of matmul.
_SMALL_GROUP = 4


@dataclass(frozen=True)
class Window:
    """How the kernel moves over the spatial dimensions, with one entry per spatial dimension."""

    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    reversal: tuple[bool, ...]


@dataclass(frozen=True)
class DimensionNumbers:
    """The batch, feature and spatial dimensions of the input, kernel and output."""

    input_batch: int
    input_feature: int
    input_spatial: tuple[int, ...]
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]


def convolution(
    lhs: Array,
    rhs: Array,
    window: Window,
    numbers: DimensionNumbers,
    *,
    feature_groups: int = 1,
    batch_groups: int = 1,
    dtype: np.dtype[Any],
) -> Array:
    """Convolve `lhs` (input) with `rhs` (kernel) in `dtype`."""
    accumulate = accumulation_type(lhs.dtype, rhs.dtype, dtype)
    image = lhs.transpose(numbers.input_batch, *numbers.input_spatial, numbers.input_feature)
    kernel = rhs.transpose(
        *numbers.kernel_spatial, numbers.kernel_input_feature, numbers.kernel_output_feature
    )
    spatial = len(window.strides)
    flipped = [slice(None, None, -1) if flip else slice(None) for flip in window.reversal]
    kernel = kernel[tuple(flipped)]
    image = pad(
        image,
        np.zeros((), image.dtype),
        (0, *[low for low, _ in window.padding], 0),
        (0, *[high for _, high in window.padding], 0),
        (0, *[dilation - 1 for dilation in window.lhs_dilation], 0),
    )
    grouped_image = _group_image(image, feature_groups, batch_groups)
    groups = feature_groups * batch_groups
    taps = kernel.shape[:spatial]
    grouped_kernel = np.moveaxis(
        kernel.reshape(*taps, kernel.shape[spatial], groups, kernel.shape[spatial + 1] // groups),
        spatial + 1,
        0,
    )
    result = _convolve(grouped_image, grouped_kernel, window, accumulate)
    # [groups, batch, spatial..., features of the group] -> batch, spatial..., all features
    result = np.moveaxis(result, 0, -2)
    result = result.reshape(*result.shape[:-2], result.shape[-2] * result.shape[-1])
    order = (numbers.output_batch, *numbers.output_spatial, numbers.output_feature)
    return convert(result.transpose(np.argsort(order)), dtype)


def _group_image(image: Array, feature_groups: int, batch_groups: int) -> Array:
    """Reshape [batch, spatial..., features] to [groups, batch of the group, spatial...,
    features].
    """
    batch, *spatial, features = image.shape
    if batch_groups > 1:
        return image.reshape(batch_groups, batch // batch_groups, *spatial, features)
    grouped = image.reshape(batch, *spatial, feature_groups, features // feature_groups)
    return np.moveaxis(grouped, -2, 0)


def _convolve(image: Array, kernel: Array, window: Window, dtype: np.dtype[Any]) -> Array:
    """Convolve a padded, dilated image [G, N, S..., C] with a kernel [G, taps..., C, O]."""
    groups, batch, *sizes, channels = image.shape
    taps = kernel.shape[1:-2]
    features = kernel.shape[-1]
    extents = [
        (tap - 1) * dilation + 1 for tap, dilation in zip(taps, window.rhs_dilation, strict=True)
    ]
    out = [
        max(0, (size - extent) // stride + 1) if tap else 0
        for size, extent, stride, tap in zip(sizes, extents, window.strides, taps, strict=True)
    ]
    positions = batch * int(np.prod(out, dtype=np.int64))
    result = np.zeros((groups, batch, *out, features), dtype)
    if result.size == 0 or channels == 0:
        return result

    def tap_view(tap: tuple[int, ...]) -> Array:
        cut = [
            slice(t * dilation, t * dilation + (n - 1) * stride + 1, stride)
            for t, dilation, n, stride in zip(
                tap, window.rhs_dilation, out, window.strides, strict=True
            )
        ]
        return image[(slice(None), slice(None), *cut)]

    all_taps = list(product(*[range(tap) for tap in taps]))
    if channels * features <= _SMALL_GROUP and groups > 1:
        _accumulate_elementwise(result, kernel, all_taps, tap_view)
        return result
    per_product = max(1, _PATCH_ELEMENTS // max(1, groups * positions * channels))
    flat = result.reshape(groups, positions, features)
    for start in range(0, len(all_taps), per_product):
        chosen = all_taps[start : start + per_product]
        views = [tap_view(tap) for tap in chosen]
        patches = views[0] if len(views) == 1 else np.concatenate(views, axis=-1)
        weights = np.concatenate([_at_tap(kernel, tap) for tap in chosen], axis=1)
        rows = patches.reshape(groups, positions, len(chosen) * channels)
        partial = matmul(rows, weights, dtype)
        if len(chosen) == len(all_taps):
            return partial.reshape(result.shape)
        flat += partial
    return result


def _at_tap(kernel: Array, tap: tuple[int, ...]) -> Array:
    """Return the [groups, C, O] weights of one tap."""
    index: tuple[Any, ...] = (slice(None), *tap)
    return np.asarray(kernel[index])


def _accumulate_elementwise(
    result: Array, kernel: Array, taps: Sequence[tuple[int, ...]], tap_view: Any
) -> None:
    """Add every tap to `result` with one multiply-add per channel and feature (depthwise)."""
    features, channels = kernel.shape[-1], kernel.shape[-2]
    column = (slice(None),) + (None,) * (result.ndim - 2)
    for tap in taps:
        view = tap_view(tap)
        weights = _at_tap(kernel, tap)
        for c in range(channels):
            for o in range(features):
                weight = convert(weights[:, c, o], result.dtype)[column]
                result[..., o] += convert(view[..., c], result.dtype) * weight
