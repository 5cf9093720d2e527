"""Find values that may contain infinities or NaN, which PE transposes spread to neighbours.

PE transposes also turn -0 into 0. Arguments that no dot reads may hold anything, and so may what is
computed from them. Of constants the elements are known.

The program may introduce them (constants, padding) or compute them (the logarithm of 0), and
arguments may hold them: masks of minus infinity are common. Operands of dots are assumed to be
finite, as are sums and products that may overflow. The exceptions are values that the program
introduces or tests for.
"""

import math
from collections.abc import Sequence, Set
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import f16
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.hlo.resources import all_finite, has_negative_zero
from neuronir.dialects.support.dtypes import byte_size, is_float, np_dtype
from neuronir.dialects.support.lazy import LazyArray
from neuronir.dialects.support.loops import LoopOp
from neuronir.passes.hlo.support.values import (
    element,
    is_splat_of,
    is_tensor,
    producer,
    splat,
)
from neuronir.passes.lowering.layouts.values import Value
from neuronir.passes.lowering.state import Lowering

FINITE_RESULTS = frozenset(
    f"hlo.{name}"
    for name in "compare exponential tanh logistic erf reduce reduce_window composite".split()
)
"""Ops that map the infinities of masks and padding to finite values: exp(-inf) = 0, a maximum with
a finite element.
"""
MAKERS = frozenset(
    f"hlo.{name}"
    for name in (
        "log log_plus_one sqrt rsqrt divide remainder power exponential exponential_minus_one"
    ).split()
)
"""Ops that produce infinities or NaN from ordinary values: log(0), 1 / 0, exp(100)."""
_COMPUTED = frozenset(
    f"hlo.{name}"
    for name in "add convert convolution dot multiply reduce reduce_window subtract".split()
)
"""Ops whose ordinary results overflow a type of small range: 300 in f8e4m3."""
PRODUCTS = frozenset(("hlo.dot", "hlo.convolution"))
_SAME_PLACES = frozenset(
    f"hlo.{name}"
    for name in "abs broadcast convert copy negate reshape reverse slice transpose".split()
)
"""Ops whose result is infinite or NaN where the operand is."""
_REDUCTIONS = frozenset(("hlo.reduce", "hlo.reduce_window"))


def mark_special(state: Lowering, op: Operation) -> None:
    """Record whether the results of `op`, and of the users fused into it, may contain infinities or
    NaN.

    Results that a dot reads are finite if an op maps masks to finite values. Nothing is known about
    other results: the minimum of an argument may be minus infinity, and the exponential of NaN is
    NaN.
    """
    inside: set[SSAValue] = set()  # such values of fused ops, some of which are never stored
    for one in _with_fused(state, op):
        if _special_results(state, one, inside):
            inside.update(one.results)
            for result in one.results:
                value: Value | None = state.values.get(result)
                while value is not None:  # the source of the view may have been made for it
                    value.special = True
                    value = value.source


def _with_fused(state: Lowering, op: Operation) -> list[Operation]:
    """Return an op that was just lowered and the users that it computed, each after its operands.

    No other user can have been lowered yet.
    """
    out: list[Operation] = []
    seen: set[Operation] = set()
    stack = [(op, False)]
    while stack:
        one, left = stack.pop()
        if left:
            out.append(one)
        elif one not in seen:
            seen.add(one)
            stack.append((one, True))
            users = (use.operation for result in one.results for use in result.uses)
            stack.extend((user, False) for user in users if user in state.done)
    return out[::-1]


def _special_results(state: Lowering, op: Operation, inside: Set[SSAValue]) -> bool:
    """Return whether an op makes infinities or NaN, or passes on those that it reads."""
    if op.name == "hlo.compare":
        return False
    multiplied = any(r in state.products.multiplied for r in op.results)
    if op.name in FINITE_RESULTS and multiplied:
        return False
    read = list(op.operands)
    if op.name in _REDUCTIONS:
        read = read[: len(read) // 2]  # an initial value of minus infinity is the identity
    if makes_special(op) and not multiplied:
        return True
    known = (state.values[v] for v in read if v in state.values)
    return any(v in inside for v in read) or any(value.may_be_special() for value in known)


def makes_special(op: Operation) -> bool:
    """Return whether an op produces infinities or NaN from ordinary values."""
    if op.name in _COMPUTED:
        return any(_small_range(element(r)) for r in op.results if is_tensor(r))
    if op.name == "hlo.bitcast_convert":
        return _from_any_bits(op)
    return op.name in MAKERS


def _from_any_bits(op: Operation) -> bool:
    """Return whether an op takes integers for the bits of floats, which may have any exponent."""
    (bits,), (result,) = op.operands, op.results
    if is_float(element(bits)) or not is_float(element(result)):
        return False
    joined = producer(bits, "or")
    if joined is None:
        return True
    x, y = joined.operands
    kind = np_dtype(element(result))
    return not any(_is_fraction(a, kind) and _is_finite(b, kind) for a, b in ((x, y), (y, x)))


def _is_fraction(bits: SSAValue, kind: np.dtype[Any]) -> bool:
    """Return whether bits are shifted behind the sign and the exponent, as random ones are."""
    shift = producer(bits, "shift_right_logical")
    by = None if shift is None else splat(shift.operands[1])
    width = 8 * byte_size(element(bits))
    return by is not None and width - int(ml_dtypes.finfo(kind).nmant) <= int(by) < width


def _is_finite(bits: SSAValue, kind: np.dtype[Any]) -> bool:
    """Return whether bits are those of a constant finite float."""
    number = splat(bits)
    if number is None or number.dtype.itemsize != kind.itemsize:
        return False
    return bool(np.isfinite(number.reshape(1).view(kind).astype(np.float64))[0])


def _small_range(type_: Attribute) -> bool:
    return is_float(type_) and (type_ == f16 or byte_size(type_) == 1)


def _looked_for(ops: Sequence[Operation]) -> set[SSAValue]:
    """Return values whose infinities or NaN the program tests for.

    The program compares them with an infinity or with themselves, so infinities or NaN are expected
    and handled.
    """
    out: set[SSAValue] = set()
    for op in reversed(ops):
        if op.name == "hlo.compare":
            x, y = op.operands
            if x is y or _is_infinite(x) or _is_infinite(y):
                out.update(op.operands)
        elif op.name in _SAME_PLACES and op.results[0] in out:
            out.add(op.operands[0])
    return out


def _is_infinite(value: SSAValue) -> bool:
    return is_splat_of(value, math.inf) or is_splat_of(value, -math.inf)


def spread(array: Array | LazyArray, multiplied: bool) -> bool:
    """Return whether PE transposes spoil other elements, or the sign of a zero, of a constant.

    The sign of a zero makes no difference where the constant reaches a dot (`multiplied`).
    """
    return not all_finite(array) or (not multiplied and has_negative_zero(array))


def reaches_products(ops: Sequence[Operation]) -> set[SSAValue]:
    """Return values whose infinities would reach a dot or convolution and spoil its sums.

    Masks become finite before, as do integers, and so may the values that the program tests.
    """
    seen = _looked_for(ops)
    out: set[SSAValue] = set()
    for op in reversed(ops):
        if isinstance(op, scf.YieldOp):
            loop = op.parent_op()
            assert isinstance(loop, LoopOp)
            out.update(v for v, r in zip(op.operands, loop.results, strict=True) if r in out)
        onward = op.name not in FINITE_RESULTS and any(r in out for r in op.results)
        if onward or op.name in PRODUCTS:
            out.update(v for v in op.operands if v not in seen and _float(v))
    return out


def _float(value: SSAValue) -> bool:
    return is_tensor(value) and is_float(element(value))
