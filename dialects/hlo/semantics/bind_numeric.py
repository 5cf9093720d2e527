"""Bind products, convolutions, solvers, transforms, normalisation and random bits."""

from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, TupleType
from xdsl.ir import Operation

from neuronir.dialects.hlo.random import stream_key
from neuronir.dialects.hlo.semantics import linear_algebra, normalization, random_bits
from neuronir.dialects.hlo.semantics.convolution import DimensionNumbers, Window, convolution
from neuronir.dialects.hlo.semantics.linear import dot
from neuronir.dialects.hlo.semantics.numeric import Array, Value
from neuronir.dialects.hlo.semantics.registry import (
    Bound,
    binder,
    flag,
    index_list,
    integer,
    result_of,
    shape_and_dtype,
    text,
    unsupported,
)
from neuronir.dialects.hlo.semantics.spectral import fft


@binder("hlo.dot")
def _dot(op: Operation) -> Bound:
    return partial(
        dot,
        lhs_batch=index_list(op, "lhs_batch_dims"),
        rhs_batch=index_list(op, "rhs_batch_dims"),
        lhs_contracting=index_list(op, "lhs_contracting_dims"),
        rhs_contracting=index_list(op, "rhs_contracting_dims"),
        dtype=result_of(op)[1],
    )


def pairs(flat: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Group low, high, low, high, ... into (low, high) pairs."""
    return tuple(zip(flat[0::2], flat[1::2], strict=True))


@binder("hlo.convolution")
def _convolution(op: Operation) -> Bound:
    window = Window(
        strides=index_list(op, "window_strides"),
        padding=pairs(index_list(op, "padding")),
        lhs_dilation=index_list(op, "lhs_dilation"),
        rhs_dilation=index_list(op, "rhs_dilation"),
        reversal=tuple(bool(flip) for flip in index_list(op, "window_reversal")),
    )
    numbers = DimensionNumbers(
        input_batch=integer(op, "input_batch_dim"),
        input_feature=integer(op, "input_feature_dim"),
        input_spatial=index_list(op, "input_spatial_dims"),
        kernel_input_feature=integer(op, "kernel_input_feature_dim"),
        kernel_output_feature=integer(op, "kernel_output_feature_dim"),
        kernel_spatial=index_list(op, "kernel_spatial_dims"),
        output_batch=integer(op, "output_batch_dim"),
        output_feature=integer(op, "output_feature_dim"),
        output_spatial=index_list(op, "output_spatial_dims"),
    )
    return partial(
        convolution,
        window=window,
        numbers=numbers,
        feature_groups=integer(op, "feature_group_count", 1),
        batch_groups=integer(op, "batch_group_count", 1),
        dtype=result_of(op)[1],
    )


@binder("hlo.cholesky")
def _cholesky(op: Operation) -> Bound:
    return partial(linear_algebra.cholesky, lower=flag(op, "lower"))


@binder("hlo.triangular_solve")
def _triangular_solve(op: Operation) -> Bound:
    return partial(
        linear_algebra.triangular_solve,
        left_side=flag(op, "left_side"),
        lower=flag(op, "lower"),
        unit_diagonal=flag(op, "unit_diagonal"),
        transpose_a=text(op, "transpose_a", "NO_TRANSPOSE"),
    )


@binder("hlo.fft")
def _fft(op: Operation) -> Bound:
    return partial(fft, kind=text(op, "fft_type"), lengths=index_list(op, "fft_length"))


def _epsilon(op: Operation) -> dict[str, Any]:
    epsilon = op.properties["epsilon"]
    assert isinstance(epsilon, FloatAttr)
    return {"epsilon": epsilon.value.data, "feature": integer(op, "feature_index")}


@binder("hlo.batch_norm_inference")
def _batch_norm_inference(op: Operation) -> Bound:
    return partial(normalization.batch_norm_inference, **_epsilon(op))


@binder("hlo.batch_norm_training")
def _batch_norm_training(op: Operation) -> Bound:
    return partial(normalization.batch_norm_training, **_epsilon(op))


@binder("hlo.batch_norm_grad")
def _batch_norm_grad(op: Operation) -> Bound:
    return partial(normalization.batch_norm_grad, **_epsilon(op))


@binder("hlo.rng_bit_generator")
def _rng_bit_generator(op: Operation) -> Bound:
    type_ = op.results[0].type
    if not isinstance(type_, TupleType):
        raise unsupported(op, "rng-bit-generator returns a tuple of state and bits")
    shape, dtype = shape_and_dtype(type_.types.data[1])
    state_shape, state_type = shape_and_dtype(type_.types.data[0])
    algorithm = text(op, "algorithm")

    def run(state: Array) -> Value:
        words = np.ascontiguousarray(state).reshape(-1).view(np.uint64)
        new_state, bits = random_bits.rng_bit_generator(words, algorithm, shape, dtype)
        return new_state.view(state_type).reshape(state_shape), bits

    return run


@binder("hlo.rng")
def _rng(op: Operation) -> Bound:
    shape, _ = result_of(op)
    normal = text(op, "distribution") == "rng_normal"
    draw = random_bits.rng_normal if normal else random_bits.rng_uniform
    return partial(draw, key=stream_key(op), shape=shape)
