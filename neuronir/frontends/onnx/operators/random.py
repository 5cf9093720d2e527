"""Import random operators: identical values in every run, given by the node's seed or name."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import NameLoc, f32, i32
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.support.dtypes import element_type, is_float, is_integer
from neuronir.frontends.graph import random
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import along
from neuronir.frontends.graph.reductions import extreme_index
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape


def _key(n: Node) -> tuple[int, int]:
    """Return the key from the 32-bit seed, if present."""
    location = n.b.location
    name = location.desc.data if isinstance(location, NameLoc) else n.op_type
    if not n.has("seed"):
        return random.key_of(name)
    if n.op_type == "Dropout":
        return random.key_of(name, n.integer("seed", 0))
    return random.key_of(name, int(np.float32(n.number("seed", 0.0)).view(np.uint32)))


def _float_type(n: Node, default: Attribute) -> Attribute:
    type_ = n.type_attribute("dtype", default)
    if not is_float(type_):
        refuse(f"random numbers of type {type_} cannot be generated")
    return type_


def _normal(n: Node, dims: Sequence[int], type_: Attribute) -> SSAValue:
    b = n.b
    made = b.binary_number("multiply", random.normal(b, dims, _key(n)), n.number("scale", 1.0))
    return b.convert(b.binary_number("add", made, n.number("mean", 0.0)), type_)


def _uniform(n: Node, dims: Sequence[int], type_: Attribute) -> SSAValue:
    b = n.b
    low, high = n.number("low", 0.0), n.number("high", 1.0)
    if not low <= high:
        refuse(f"low = {low} must not be above high = {high}")
    made = b.binary_number("multiply", random.uniform(b, dims, _key(n)), high - low)
    return b.convert(b.binary_number("add", made, low), type_)


@operator("RandomNormal")
def _random_normal(n: Node) -> SSAValue:
    return _normal(n, n.ints("shape") or (), _float_type(n, f32))


@operator("RandomNormalLike")
def _random_normal_like(n: Node) -> SSAValue:
    return _normal(n, shape(n[0]), _float_type(n, element(n[0])))


@operator("RandomUniform")
def _random_uniform(n: Node) -> SSAValue:
    return _uniform(n, n.ints("shape") or (), _float_type(n, f32))


@operator("RandomUniformLike")
def _random_uniform_like(n: Node) -> SSAValue:
    return _uniform(n, shape(n[0]), _float_type(n, element(n[0])))


@operator("Bernoulli")
def _bernoulli(n: Node) -> SSAValue:
    """Return 1 where a uniform value is below the probability, else 0."""
    drawn = random.uniform(n.b, shape(n[0]), _key(n))
    hit = n.b.compare(drawn, n.b.convert(n[0], f32), "LT")
    return n.b.convert(hit, n.type_attribute("dtype", element(n[0])))


@operator("Multinomial")
def _multinomial(n: Node) -> SSAValue:
    """Draw classes with given (unnormalised) log-probabilities.

    The drawn class has the largest sum of its log-probability and a Gumbel value, -log(-log(u)).
    """
    b = n.b
    if len(shape(n[0])) != 2 or not is_float(element(n[0])):
        refuse(f"its input must be a matrix of floats, is {n[0].type}")
    batch, classes = shape(n[0])
    samples = n.integer("sample_size", 1)
    dims = (batch, samples, classes)
    # Halfway between multiples of 2^-23, so that neither logarithm is infinite.
    drawn = b.binary_number("add", random.uniform(b, dims, _key(n)), 2.0**-24)
    inner = b.unary("negate", b.unary("log", drawn))
    gumbel = b.unary("negate", b.unary("log", inner))
    scores = b.binary("add", gumbel, along(b, b.convert(n[0], f32), dims, 0, 2))
    type_ = n.type_attribute("dtype", i32)
    if not is_integer(type_):
        refuse(f"classes of type {type_} cannot be numbered")
    return b.convert(extreme_index(b, scores, 2, i32), type_)


@operator("Dropout")
def _dropout(n: Node) -> list[SSAValue]:
    """Dropout is the identity in inference; in training mode random elements are dropped."""
    b, x = n.b, n[0]
    ratio = float(n.scalar(1, 0.5)) if n.opset >= 12 else n.number("ratio", 0.5)
    training = bool(n.scalar(2, False)) if n.opset >= 12 else False
    if training and ratio != 0.0:
        if not 0.0 <= ratio < 1.0:
            refuse(f"the ratio {ratio} must be in [0, 1)")
        kept = b.compare_number(random.uniform(b, shape(x), _key(n)), ratio, "GE")
        scaled = b.binary_number("multiply", x, 1.0 / (1.0 - ratio))
        return [b.select(kept, scaled, b.fill_like(0, x)), kept]
    mask = tensor_type(shape(x), element_type("bool" if n.opset >= 10 else "float32"))
    return [x, b.fill(1, mask)] if n.wants(1) else [x]
