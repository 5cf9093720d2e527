"""Compute batch-norm training, inference and gradients over all dimensions but the feature one."""

import numpy as np

from neuronir.dialects.hlo.semantics.numeric import Array, widen


def _along(values: Array, feature: int, rank: int) -> Array:
    spread = [1] * rank
    spread[feature] = values.shape[0]
    return widen(values).reshape(spread)


def batch_norm_inference(
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    epsilon: float,
    feature: int,
) -> Array:
    """Compute scale * (x - mean) / sqrt(variance + epsilon) + offset."""
    s, o, m, v = (_along(a, feature, x.ndim) for a in (scale, offset, mean, variance))
    small = np.asarray(epsilon, widen(x).dtype)
    return np.asarray((widen(x) - m) / np.sqrt(v + small) * s + o).astype(x.dtype)


def batch_norm_training(
    x: Array, scale: Array, offset: Array, epsilon: float, feature: int
) -> tuple[Array, Array, Array]:
    """Return the normalised x, the batch mean and the (biased) batch variance."""
    axes = tuple(i for i in range(x.ndim) if i != feature)
    wide = widen(x)
    mean = wide.mean(axis=axes, dtype=wide.dtype)
    variance = np.square(wide - _along(mean, feature, x.ndim)).mean(axis=axes, dtype=wide.dtype)
    result = batch_norm_inference(x, scale, offset, mean, variance, epsilon, feature)
    return result, mean.astype(scale.dtype), variance.astype(scale.dtype)


def batch_norm_grad(
    x: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    grad_output: Array,
    epsilon: float,
    feature: int,
) -> tuple[Array, Array, Array]:
    """Return the gradients of batch_norm_training for x, scale and offset."""
    axes = tuple(i for i in range(x.ndim) if i != feature)
    wide, grad = widen(x), widen(grad_output)
    s, m, v = (_along(a, feature, x.ndim) for a in (scale, mean, variance))
    inverse = np.ones((), wide.dtype) / np.sqrt(v + np.asarray(epsilon, wide.dtype))
    unit = (wide - m) * inverse
    grad_scale = (grad * unit).sum(axis=axes, dtype=wide.dtype)
    grad_offset = grad.sum(axis=axes, dtype=wide.dtype)
    count = np.asarray(wide.size // max(1, x.shape[feature]), wide.dtype)
    spread_scale = _along(grad_scale, feature, x.ndim)
    spread_offset = _along(grad_offset, feature, x.ndim)
    grad_x = s * inverse * (grad - spread_offset / count - unit * spread_scale / count)
    return grad_x.astype(x.dtype), grad_scale.astype(scale.dtype), grad_offset.astype(scale.dtype)
