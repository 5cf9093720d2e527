"""Where values come from: constants, inputs, variables, random numbers; and what passes them on."""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import string_attr, tensor_type, tuple_type
from neuronir.dialects.hlo.resources import Array
from neuronir.dialects.support.dtypes import from_hlo_name, is_float
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.frontends.tensorflow.tensors import decode
from neuronir.frontends.tensorflow.values import Value, Variable
from neuronir.passes.hlo.support.values import shape

U32 = from_hlo_name("u32")


@op("Const")
def const(o: Op) -> SSAValue:
    """A constant; one element that fills a shape stays one."""
    array, dims = decode(o.proto("value", "tensor"))
    if array.size > 1 and _is_one_element(array):
        array = array.reshape(-1)[0].reshape(())
    if array.shape == dims:
        return o.b.constant(array)
    return o.b.broadcast(o.b.constant(array.reshape(())), dims, ())


def _is_one_element(array: Array) -> bool:
    """Whether all elements have the same bits; most weights differ at once."""
    bits = array.reshape(-1).view(np.uint8).reshape(array.size, -1)
    return bool((bits[:8] == bits[0]).all()) and bool((bits == bits[0]).all())


@op(
    "Identity",
    "Snapshot",
    "StopGradient",
    "PreventGradient",
    "CheckNumerics",
    "CheckNumericsV2",
    "GuaranteeConst",
    "PlaceholderWithDefault",
    "DebugGradientIdentity",
    "Print",
    "LoopCond",
    "Enter",
    "ReadVariableOp",
)
def identity(o: Op) -> Value:
    """The operand; of a variable, its value."""
    return read(o, o.raw(0))


def read(o: Op, value: Value) -> Value:
    """A variable's value where it is one."""
    return o.b.constant(o.variable(value.name)) if isinstance(value, Variable) else value


@op("EnsureShape")
def ensure_shape(o: Op) -> SSAValue:
    """The operand, whose shape must be as said."""
    wanted, dims = o.shape("shape"), o.dims()
    if wanted is not None and (
        len(wanted) != len(dims)
        or any(w not in (None, n) for w, n in zip(wanted, dims, strict=True))
    ):
        refuse(f"the shape is {list(dims)}, must be {list(wanted)}")
    return o[0]


@op("IdentityN")
def identity_n(o: Op) -> Sequence[Value]:
    """The operands."""
    return [read(o, value) for value in o.operands]


@op("Switch", "RefSwitch", outputs="output_false output_true")
def switch(o: Op) -> Sequence[Value]:
    """The operand both ways: Merge chooses (see conditions)."""
    return [o.raw(0), o.raw(0)]


@op("VarHandleOp", "VariableV2", "Variable")
def variable(o: Op) -> Variable:
    """A variable of the model."""
    return Variable(o.node.name)


@op("Placeholder")
def placeholder(o: Op) -> Value:
    """A placeholder that is no input: it cannot have a value."""
    refuse("it is no input of the model", "name it in --io-config, or choose other outputs")


@op("NoOp", "Assert", "_Arg", "Exit", "NextIteration", "Merge", outputs="output value_index")
def nothing(o: Op) -> Sequence[Value]:
    """No value; parts of control flow are built as a whole."""
    return []


# --- random numbers: the same ones in every run


def _bits(o: Op, count: int) -> SSAValue:
    """Random u32 numbers; the node's seeds are the state of the generator."""
    seeds = [o.int("seed", 0) % (1 << 64), o.int("seed2", 0) % (1 << 64)]
    state = o.b.constant(np.array(seeds, np.uint64))
    made = tensor_type((count,), U32)
    both = o.b.emit(
        "rng_bit_generator",
        [state],
        tuple_type([state.type, made]),
        {"algorithm": string_attr("rng_default")},
    )
    return o.b.tuple_element(both, 1)


def _uniform(o: Op, dims: Sequence[int], element_type: Attribute) -> SSAValue:
    """Numbers in [0, 1): random mantissas of 1 to 2, less 1."""
    b = o.b
    bits = _bits(o, prod(dims))
    mantissa = b.binary("shift_right_logical", bits, b.fill_like(9, bits))
    one = b.binary("or", mantissa, b.fill_like(0x3F800000, bits))
    number = b.binary_number("subtract", b.bitcast(one, f32), 1)
    return b.convert(b.reshape(number, dims), element_type)


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
    assert shape(made) == tuple(dims)
    return b.convert(made, type_)
