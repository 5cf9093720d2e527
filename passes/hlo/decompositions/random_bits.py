"""Decompose rng_bit_generator and rng into arithmetic of u32 counters.

The streams of rng_bit_generator are those of XLA's CPU backend, bit for bit
(`dialects/hlo/semantics/random_bits.py` describes them).
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType, TupleType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.hlo.attributes import string_attr, tuple_type
from neuronir.dialects.hlo.random import stream_key
from neuronir.dialects.hlo.semantics.random_bits import threefry_split
from neuronir.dialects.support.dtypes import byte_size, is_float, is_integer
from neuronir.passes.hlo.integers import pairs
from neuronir.passes.hlo.integers.generators import (
    Product,
    box_muller,
    philox_4x32,
    threefry_2x32,
    unit_interval,
)
from neuronir.passes.hlo.integers.pairs import U32, Pair
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, shape, size, string, tensor
from neuronir.passes.hlo.support.walk import Rule

_MOST = 1 << 32
"""Counters of one op: their number is a u32."""


def rng_bit_generator(op: Operation, e: Emitter, product: Product) -> SSAValue | None:
    """Compute the new state and the bits; `rng_default` is Philox, as on XLA's CPU backend."""
    type_ = op.results[0].type
    state = op.operands[0]
    if not isinstance(type_, TupleType) or element(state) != U32 or size(state) not in (4, 6):
        return None
    bits = type_.types.data[1]
    if not isinstance(bits, TensorType):
        return None
    dims, kind = bits.get_shape(), bits.element_type
    if not is_integer(kind) or byte_size(kind) > 4 or prod(dims) >= _MOST:
        return None
    flat = e.reshape(state, (size(state),))
    words = [e.reshape(e.slice(flat, [i], [i + 1]), ()) for i in range(size(state))]
    parts = [Pair(*words[i : i + 2]) for i in range(0, len(words), 2)]
    if string(op, "algorithm") == "rng_three_fry":
        new, made = _threefry(e, parts, dims)
    else:
        new, made = _philox(e, parts, dims, product)
    halves = [e.reshape(half, (1,)) for part in new for half in (part.low, part.high)]
    new_state = e.reshape(e.concatenate(halves, 0), shape(state))
    return e.tuple([new_state, _narrowed(e, made, kind)])


def rng(op: Operation, e: Emitter, product: Product) -> SSAValue | None:
    """Draw with rng_bit_generator, from the stream that belongs to the op."""
    result, normal = op.results[0], string(op, "distribution") == "rng_normal"
    kind, dims = element(result), shape(result)
    if byte_size(kind) > 4 or (normal and not is_float(kind)):
        return None
    low, high = (e.broadcast(v, dims, ()) for v in op.operands)
    bits = _drawn(e, stream_key(op), (2, *dims) if normal else dims)
    if is_integer(kind):
        low, high = e.convert(low, U32), e.convert(high, U32)
        drawn = product(e, bits, e.binary("subtract", high, low)).high
        return e.convert(e.binary("add", drawn, low), kind)
    if not is_float(kind):
        return None
    if normal:
        unit = unit_interval(e, bits)
        rest = [0] * len(dims)
        first, second = (e.reshape(e.slice(unit, [i, *rest], [i + 1, *dims]), dims) for i in (0, 1))
        scale, shift = e.convert(high, f32), e.convert(low, f32)
        unit = box_muller(e, first, second)
    else:
        unit = unit_interval(e, bits)
        shift = e.convert(low, f32)
        scale = e.binary("subtract", e.convert(high, f32), shift)
    return e.convert(e.binary("add", e.binary("multiply", unit, scale), shift), kind)


def _drawn(e: Emitter, key: tuple[int, int], dims: Sequence[int]) -> SSAValue:
    """Return the first words of a Philox stream."""
    state = e.constant(np.array([*key, 0, 0], np.uint32))
    result = tuple_type([state.type, tensor(tuple(dims), U32)])
    properties = {"algorithm": string_attr("rng_philox")}
    return e.tuple_element(e.emit("rng_bit_generator", [state], result, properties), 1)


def _narrowed(e: Emitter, words: SSAValue, kind: Attribute) -> SSAValue:
    """Return the low bits of words as another integer type."""
    return e.bitcast(words, kind) if byte_size(kind) == 4 else e.convert(words, kind)


def _threefry(
    e: Emitter, state: Sequence[Pair], dims: Sequence[int]
) -> tuple[list[Pair], SSAValue]:
    """Return the new state [key, counter] and the words, two for each counter."""
    key, counter = state[0], state[1]
    split, half = threefry_split(dims)
    x, _ = _counters(e, counter, half)
    made = threefry_2x32(e, (x.low, x.high), (key.low, key.high))
    words = _interleaved(e, made, split)
    words = e.slice(words, [0] * len(half), dims or [1])
    new = [key, pairs.add(e, counter, _number(e, prod(half))), *state[2:]]
    return new, e.reshape(words, tuple(dims))


def _philox(
    e: Emitter, state: Sequence[Pair], dims: Sequence[int], product: Product
) -> tuple[list[Pair], SSAValue]:
    """Return the new state [key, low (, high)] and the words, four for each counter."""
    key, low = state[0], state[1]
    # For a state of two integers, the key itself is the high half of the counter.
    high = state[2] if len(state) > 2 else key
    count = prod(dims)
    blocks = -(-count // 4)
    rows = tuple(dims[:-1])
    whole = bool(dims) and dims[-1] % 4 == 0
    block_dims = (*rows, dims[-1] // 4) if whole else (blocks,)
    counter, carry = _counters(e, low, block_dims)
    carried = pairs.add(e, high, _number(e, 1))
    full = e.compare_number(low.high, _MOST - 1, "EQ")
    upper = []
    for more, less in ((carried.low, high.low), (carried.high, high.high)):
        upper.append(_either(e, carry, e.select(full, more, less), less))
    made = philox_4x32(e, [counter.low, counter.high, *upper], (key.low, key.high), product)
    words = _interleaved(e, made, len(block_dims) - 1)
    words = words if whole else e.slice(words, [0], [count])
    end = pairs.add(e, low, _number(e, blocks))
    new = [key, end]
    if len(state) > 2:
        wraps = pairs.compare(e, end, low, "LT")
        halves = ((carried.low, high.low), (carried.high, high.high))
        new.append(Pair(*(e.select(wraps, a, b) for a, b in halves)))
    return new, e.reshape(words, tuple(dims))


def _number(e: Emitter, number: int) -> Pair:
    return Pair(e.scalar(number, U32), e.scalar(0, U32))


def _either(e: Emitter, pred: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
    """Select one of two scalars elementwise."""
    return e.select(pred, *(e.broadcast(v, shape(pred), ()) for v in (on_true, on_false)))


def _counters(e: Emitter, start: Pair, dims: Sequence[int]) -> tuple[Pair, SSAValue]:
    """Return start + i for each element i of an array in row-major order, and whether the sum of
    the low halves carries.
    """
    places: SSAValue | None = None
    for i in range(len(dims)):
        count = e.iota(dims, i, U32)
        stride = prod(dims[i + 1 :])
        count = count if stride == 1 else e.binary_number("multiply", count, stride)
        places = count if places is None else e.binary("add", places, count)
    assert places is not None
    low = e.binary("add", places, e.broadcast(start.low, dims, ()))
    carry = e.compare(low, places, "LT")
    return Pair(low, _either(e, carry, e.binary_number("add", start.high, 1), start.high)), carry


def _interleaved(e: Emitter, words: Sequence[SSAValue], dimension: int) -> SSAValue:
    """Return arrays of one shape with corresponding elements adjacent along a dimension."""
    dims = list(shape(words[0]))
    stacked = [e.reshape(v, (*dims[: dimension + 1], 1, *dims[dimension + 1 :])) for v in words]
    joined = e.concatenate(stacked, dimension + 1)
    dims[dimension] *= len(words)
    return e.reshape(joined, tuple(dims))


def rules(product: Product) -> dict[str, Rule]:
    """Return the rules that multiply words with `product`."""

    def draw(op: Operation, e: Emitter) -> SSAValue | None:
        return rng(op, e, product)

    def generate(op: Operation, e: Emitter) -> SSAValue | None:
        return rng_bit_generator(op, e, product)

    return {"rng": draw, "rng_bit_generator": generate}


RULES = rules(pairs.full_product)
