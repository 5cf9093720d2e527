"""Define the composite `recurrence`: its parameters, and how it is built."""

from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, UnitAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from neuronir.dialects.hlo.attributes import i64_attr, string_attr
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.passes.hlo.recurrences.whiles import begin_while, end_while
from neuronir.passes.hlo.support.build import OP_CLASSES, Builder, Emitter
from neuronir.passes.hlo.support.values import shape

KIND = "recurrence"
"""The kind of composite of a recurrence."""


@dataclass(frozen=True)
class Recurrence:
    """A recurrence along a dimension.

    `linear` is `h[t] = a[t] * h[t-1] + b[t]`, other kinds are `h[t] = h[t-1] op x[t]`. `begin` is
    `h[-1]`; without it, `h[0]` is `b[0]` or `x[0]`.
    """

    kind: str
    arrays: tuple[SSAValue, ...]
    begin: SSAValue | None
    dimension: int
    backwards: bool


def recurrence_of(op: Operation) -> Recurrence | None:
    """Return the recurrence of a composite; None for other ops."""
    if not isinstance(op, CompositeOp) or op.kind.data != KIND:
        return None
    params = op.params.data
    kind, dimension = params["kind"], params["dimension"]
    assert isinstance(kind, StringAttr) and isinstance(dimension, IntegerAttr)
    count = 2 if kind.data == "linear" else 1
    begin = op.operands[count] if len(op.operands) > count else None
    along = int(dimension.value.data)
    return Recurrence(kind.data, tuple(op.operands[:count]), begin, along, "backwards" in params)


def params_of(kind: str, dimension: int, *, backwards: bool) -> dict[str, Attribute]:
    """Return the parameters of a composite."""
    params: dict[str, Attribute] = {"kind": StringAttr(kind), "dimension": i64_attr(dimension)}
    if backwards:
        params["backwards"] = UnitAttr()
    return params


def composite(
    build: Builder, kind: str, arrays: list[SSAValue], begin: SSAValue, *, backwards: bool
) -> SSAValue:
    """Build a recurrence along the first dimension of `arrays`; its region is a loop."""
    inputs = [*arrays, begin]
    block = Block(arg_types=[v.type for v in inputs])
    params = DictionaryAttr(params_of(kind, 0, backwards=backwards))
    properties: dict[str, Attribute] = {"kind": string_attr(KIND), "params": params}
    result = build.emit("composite", inputs, arrays[-1].type, properties, [Region(block)])
    end = OP_CLASSES["hlo.return"].create(operands=[block.args[0]])
    block.add_op(end)
    end.operands[0] = _as_loop(Emitter(end), kind, list(block.args), backwards)
    return result


def _as_loop(build: Builder, kind: str, inputs: list[SSAValue], backwards: bool) -> SSAValue:
    """Build the loop of a recurrence."""
    *arrays, begin = inputs
    dims = shape(arrays[-1])
    loop, inside, state = begin_while(
        build, [build.scalar(0, i32), begin, build.fill_like(0, arrays[-1]), *arrays], dims[0]
    )
    place = [state[0], *[inside.scalar(0, i32)] * (len(dims) - 1)]
    if backwards:
        place[0] = inside.binary("subtract", inside.scalar(dims[0] - 1, i32), state[0])
    sizes = (1, *dims[1:])
    rows = [
        inside.reshape(inside.op("dynamic_slice", [a, *place], slice_sizes=sizes), dims[1:])
        for a in state[3:]
    ]
    if kind == "linear":
        after = inside.binary("add", inside.binary("multiply", rows[0], state[1]), rows[1])
    else:
        after = inside.binary(kind, state[1], rows[0])
    whole = inside.op("dynamic_update_slice", [state[2], inside.reshape(after, sizes), *place])
    end_while(loop, inside, state[0], [after, whole, *state[3:]])
    return build.tuple_element(loop.results[0], 2)
