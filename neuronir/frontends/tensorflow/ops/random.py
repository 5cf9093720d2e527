"""Random numbers: the same ones in every run, which a node's seeds determine."""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.support.dtypes import is_float
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.random import threefry, unit_interval
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op


def _uniform(o: Op, dims: Sequence[int], element_type: Attribute) -> SSAValue:
    """Numbers in [0, 1)."""
    if not is_float(element_type) or any(n < 0 for n in dims):
        refuse(f"random numbers of type {element_type} and shape {list(dims)} cannot be made")
    key = (o.int("seed", 0) % (1 << 32), o.int("seed2", 0) % (1 << 32))
    numbers = unit_interval(o.b, threefry(o.b, prod(dims), key))
    return o.b.convert(o.b.reshape(numbers, dims), element_type)


@op("RandomUniform")
def random_uniform(o: Op) -> SSAValue:
    """Uniform numbers in [0, 1)."""
    return _uniform(o, o.ints(0, "the shape"), o.dtype("dtype"))


@op("RandomUniformInt")
def random_uniform_int(o: Op) -> SSAValue:
    """Uniform integers from a minimum to below a maximum."""
    b, dims = o.b, o.ints(0, "the shape")
    low, high = o.integer(1, "the minimum"), o.integer(2, "the maximum")
    if high <= low:
        refuse(f"the maximum {high} must be above the minimum {low}")
    scaled = b.binary_number("multiply", _uniform(o, dims, f32), high - low)
    return b.binary_number("add", b.convert(scaled, o.element(1)), low)


@op("RandomStandardNormal")
def random_normal(o: Op) -> SSAValue:
    """Normal numbers: Box and Muller's transform of two uniform ones."""
    b, dims = o.b, o.ints(0, "the shape")
    type_ = o.dtype("dtype")
    if not is_float(type_):
        refuse(f"random numbers of type {type_} are not supported")
    both = _uniform(o, (2, *dims), f32)
    rest = [0] * len(dims)
    first, second = (b.reshape(b.slice(both, [i, *rest], [i + 1, *dims]), dims) for i in (0, 1))
    # 1 - u lies in (0, 1], so that the logarithm is finite.
    log = b.unary("log", b.binary("subtract", b.fill_like(1, first), first))
    radius = b.unary("sqrt", b.binary_number("multiply", log, -2))
    angle = b.unary("cosine", b.binary_number("multiply", second, 2 * np.pi))
    made = b.binary("multiply", radius, angle)
    return b.convert(made, type_)
