"""Import operators that create tensors: filled, counting, random."""

import numpy as np
from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.support.dtypes import is_float, np_dtype
from neuronir.frontends.graph import random
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.torch.node import Node, shape
from neuronir.frontends.torch.registry import operator


def _filled(n: Node, number: complex) -> SSAValue:
    return n.b.fill(number, tensor_type(n.dims(), n.type()))


@operator("full", "full_like", "new_full")
def _full(n: Node) -> SSAValue:
    return n.full("fill_value")


@operator("fill")
def _fill(n: Node) -> SSAValue:
    return n.full("value")


@operator("zeros", "zeros_like", "new_zeros", "zero")
def _zeros(n: Node) -> SSAValue:
    return _filled(n, 0)


@operator("ones", "ones_like", "new_ones")
def _ones(n: Node) -> SSAValue:
    return _filled(n, 1)


@operator(
    "empty", "empty_like", "new_empty", "empty_strided", "empty_permuted", "new_empty_strided"
)
def _empty(n: Node) -> SSAValue:
    """Undefined elements are zero here."""
    return _filled(n, 0)


@operator("scalar_tensor")
def _scalar_tensor(n: Node) -> SSAValue:
    return n.full("s")


@operator("arange")
def _arange(n: Node) -> SSAValue:
    start, step = n.value("start", 0), n.value("step", 1)
    counted = n.b.iota(n.dims(), 0, n.type())
    if step != 1:
        counted = n.b.binary_number("multiply", counted, step)
    return counted if start == 0 else n.b.binary_number("add", counted, start)


@operator("linspace")
def _linspace(n: Node) -> SSAValue:
    if any(isinstance(n.arguments[name], SSAValue) for name in ("start", "end")):
        return _linspace_of_data(n)
    start, end = n.value("start"), n.value("end")
    values = np.linspace(start, end, n.dims()[0])
    if not is_float(n.type()):
        values = np.trunc(values)
    return n.b.constant(values.astype(np_dtype(n.type())))


def _linspace_of_data(n: Node) -> SSAValue:
    """Compute start + i * step up to the middle, and end - (steps - 1 - i) * step from there."""
    b, (steps,) = n.b, n.dims()
    type_ = n.type() if is_float(n.type()) else f32
    start, end = (n.full(name, type_) for name in ("start", "end"))
    numbers = np.arange(steps)
    first = b.constant(numbers < steps // 2) if steps > 1 else b.constant(numbers == 0)
    width = b.binary_number("divide", b.binary("subtract", end, start), max(1, steps - 1))
    kind = np_dtype(type_)
    up = b.binary("multiply", width, b.constant(numbers.astype(kind)))
    down = b.binary("multiply", width, b.constant((steps - 1 - numbers).astype(kind)))
    found = b.select(first, b.binary("add", start, up), b.binary("subtract", end, down))
    return n.cast(found)


@operator("eye")
def _eye(n: Node) -> SSAValue:
    on = n.b.compare(n.b.iota(n.dims(), 0, i32), n.b.iota(n.dims(), 1, i32), "EQ")
    return n.cast(on)


# --- random numbers: the same in every run, those of the node's name


def _key(n: Node) -> tuple[int, int]:
    location = n.b.location
    return random.key_of(getattr(getattr(location, "desc", None), "data", n.name))


def _float_only(type_: Attribute) -> None:
    if not is_float(type_):
        refuse(f"random numbers of type {type_} cannot be generated")


@operator("rand", "rand_like")
def _rand(n: Node) -> SSAValue:
    _float_only(n.type())
    return n.cast(random.uniform(n.b, n.dims(), _key(n)))


@operator("randn", "randn_like")
def _randn(n: Node) -> SSAValue:
    _float_only(n.type())
    return n.cast(random.normal(n.b, n.dims(), _key(n)))


@operator("randperm")
def _randperm(n: Node) -> SSAValue:
    order = np.random.default_rng(_key(n)).permutation(n.dims()[0])
    return n.b.constant(order.astype(np_dtype(n.type())))


@operator("uniform")
def _uniform(n: Node) -> SSAValue:
    _float_only(n.type())
    low, high = n.value("from", 0.0), n.value("to", 1.0)
    made = n.b.binary_number("multiply", random.uniform(n.b, n.dims(), _key(n)), high - low)
    return n.cast(n.b.binary_number("add", made, low))


@operator("normal_functional")
def _normal(n: Node) -> SSAValue:
    _float_only(n.type())
    made = random.normal(n.b, n.dims(), _key(n))
    made = n.b.binary_number("multiply", made, n.value("std", 1.0))
    return n.cast(n.b.binary_number("add", made, n.value("mean", 0.0)))


@operator("exponential")
def _exponential(n: Node) -> SSAValue:
    _float_only(n.type())
    made = random.uniform(n.b, n.dims(), _key(n))
    log = n.b.unary("log_plus_one", n.b.unary("negate", made))
    return n.cast(n.b.binary_number("divide", log, -n.value("lambd", 1.0)))


@operator("bernoulli")
def _bernoulli(n: Node) -> SSAValue:
    made = random.uniform(n.b, n.dims(), _key(n))
    p = n.value("p") if "p" in n.arguments else None
    limit = n.b.fill_like(p, made) if p is not None else n.b.convert(n["self"], f32)
    return n.cast(n.b.compare(made, limit, "LT"))


@operator("native_dropout")
def _native_dropout(n: Node) -> list[SSAValue]:
    x, p = n["input"], n.value("p", 0.0)
    if n.value("train") is False or p == 0:
        return [x, n.b.fill(1, tensor_type(shape(x), i1))]
    made = random.uniform(n.b, shape(x), _key(n))
    keep = n.b.compare_number(made, p, "GE")
    scaled = n.b.binary_number("multiply", x, 0.0 if p == 1 else 1 / (1 - p))
    return [n.b.select(keep, scaled, n.b.fill_like(0, x)), keep]


@operator("dropout", "feature_dropout", "alpha_dropout", kept=True)
def _dropout(n: Node) -> SSAValue:
    if n.value("train") and n.value("p"):
        refuse("dropout in training mode is not supported here", "call model.eval() first")
    return n["input"]
