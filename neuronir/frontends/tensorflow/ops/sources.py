"""Import constants, inputs, variables, and operators that pass values on."""

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.dtypes import from_hlo_name
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.frontends.tensorflow.tensors import decode
from neuronir.frontends.tensorflow.values import Value, Variable

U32 = from_hlo_name("u32")


@op("Const")
def const(o: Op) -> SSAValue:
    """Build a constant; a single element that fills a shape stays a broadcast."""
    array, dims = decode(o.proto("value", "tensor"))
    if array.size > 1 and _is_one_element(array):
        array = array.reshape(-1)[0].reshape(())
    if array.shape == dims:
        return o.b.constant(array)
    return o.b.broadcast(o.b.constant(array.reshape(())), dims, ())


def _is_one_element(array: Array) -> bool:
    """Return whether all elements have the same bits; most weights differ at the first elements."""
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
    """Return the operand; for a variable, its value."""
    return read(o, o.raw(0))


def read(o: Op, value: Value) -> Value:
    """Return the value of a variable; other values are returned unchanged."""
    return o.b.constant(o.variable(value.name)) if isinstance(value, Variable) else value


@op("EnsureShape")
def ensure_shape(o: Op) -> SSAValue:
    """Return the operand, whose shape must match."""
    wanted, dims = o.shape("shape"), o.dims()
    if wanted is not None and (
        len(wanted) != len(dims)
        or any(w not in (None, n) for w, n in zip(wanted, dims, strict=True))
    ):
        refuse(f"the shape is {list(dims)}, must be {list(wanted)}")
    return o[0]


@op("IdentityN")
def identity_n(o: Op) -> Sequence[Value]:
    """Return the operands."""
    return [read(o, value) for value in o.operands]


@op("Switch", "RefSwitch", outputs="output_false output_true")
def switch(o: Op) -> Sequence[Value]:
    """Return the operand on both outputs; Merge selects (see conditions)."""
    return [o.raw(0), o.raw(0)]


@op("VarHandleOp", "VariableV2", "Variable")
def variable(o: Op) -> Variable:
    """Return a variable of the model."""
    return Variable(o.node.name)


@op("Placeholder")
def placeholder(o: Op) -> Value:
    """Reject a placeholder that is not an input, because it has no value."""
    refuse("it is not an input of the model", "name it in --io-config, or choose other outputs")


@op("NoOp", "Assert", "_Arg", "Exit", "NextIteration", "Merge", outputs="output value_index")
def nothing(o: Op) -> Sequence[Value]:
    """Return no value; control flow is built as a whole."""
    return []
