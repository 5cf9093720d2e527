"""Bind elementwise ops, conversions and constants to their functions."""

from functools import partial

import numpy as np
from xdsl.ir import Operation

from neuronir.dialects.hlo.constants import constant_array
from neuronir.dialects.hlo.semantics.convert import bitcast_convert, convert, reduce_precision
from neuronir.dialects.hlo.semantics.data_movement import iota
from neuronir.dialects.hlo.semantics.elementwise import ELEMENTWISE, comparison
from neuronir.dialects.hlo.semantics.numeric import Array, Value
from neuronir.dialects.hlo.semantics.registry import (
    Bound,
    binder,
    integer,
    result_of,
    text,
)
from neuronir.dialects.hlo.shape_rules import element_of
from neuronir.dialects.support.dtypes import is_tf32
from neuronir.dialects.support.tf32 import round_tf32


@binder(*[f"hlo.{name}" for name in ELEMENTWISE if name != "copy"])
def _elementwise(op: Operation) -> Bound:
    return ELEMENTWISE[op.name.removeprefix("hlo.")]


@binder("hlo.copy")
def _copy(op: Operation) -> Bound:
    def run(value: Value) -> Value:
        return value

    return run


@binder("hlo.compare")
def _compare(op: Operation) -> Bound:
    return comparison(text(op, "direction"), text(op, "compare_type") or None)


@binder("hlo.convert")
def _convert(op: Operation) -> Bound:
    narrow = partial(convert, dtype=result_of(op)[1])
    if not is_tf32(element_of(op.results[0].type)):
        return narrow

    def run(value: Array) -> Array:
        return round_tf32(narrow(value))

    return run


@binder("hlo.bitcast_convert")
def _bitcast_convert(op: Operation) -> Bound:
    return partial(bitcast_convert, dtype=result_of(op)[1])


@binder("hlo.reduce_precision")
def _reduce_precision(op: Operation) -> Bound:
    return partial(
        reduce_precision,
        exponent_bits=integer(op, "exponent_bits"),
        mantissa_bits=integer(op, "mantissa_bits"),
    )


@binder("hlo.constant")
def _constant(op: Operation) -> Bound:
    array: Array = np.asarray(constant_array(op))
    return lambda: array


@binder("hlo.iota")
def _iota(op: Operation) -> Bound:
    shape, dtype = result_of(op)
    array = iota(shape, integer(op, "iota_dimension"), dtype)
    return lambda: array
