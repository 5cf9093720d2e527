"""Import random operators: identical values in every run, given by a node's seeds."""

from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.support.dtypes import is_float
from neuronir.frontends.graph import random
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op


def _key(o: Op) -> tuple[int, int]:
    """Return the key of the node's seeds; if both are zero (no seed), of its name."""
    seeds = (o.int("seed", 0) % (1 << 32), o.int("seed2", 0) % (1 << 32))
    return seeds if any(seeds) else random.key_of(o.node.name)


def _float_type(o: Op) -> Attribute:
    type_ = o.dtype("dtype")
    if not is_float(type_):
        refuse(f"random numbers of type {type_} cannot be generated")
    return type_


@op("RandomUniform")
def random_uniform(o: Op) -> SSAValue:
    """Generate uniform values in [0, 1)."""
    type_ = _float_type(o)
    return o.b.convert(random.uniform(o.b, o.ints(0, "the shape"), _key(o)), type_)


@op("RandomUniformInt")
def random_uniform_int(o: Op) -> SSAValue:
    """Generate uniform integers from a minimum to below a maximum."""
    b, dims = o.b, o.ints(0, "the shape")
    low, high = o.integer(1, "the minimum"), o.integer(2, "the maximum")
    if high <= low:
        refuse(f"the maximum {high} must be above the minimum {low}")
    scaled = b.binary_number("multiply", random.uniform(b, dims, _key(o)), high - low)
    return b.binary_number("add", b.convert(scaled, o.element(1)), low)


@op("RandomStandardNormal")
def random_normal(o: Op) -> SSAValue:
    """Generate values of the standard normal distribution."""
    type_ = _float_type(o)
    return o.b.convert(random.normal(o.b, o.ints(0, "the shape"), _key(o)), type_)
