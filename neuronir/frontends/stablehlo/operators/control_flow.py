"""Loops, branches, calls and tuples.

Regions of hlo are isolated and have one argument. The values that a region takes from around it
become elements of a tuple: the value of a loop, or the operand of a branch.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from neuronir.dialects.hlo.attributes import i64_attr, tuple_type
from neuronir.frontends.graph.block import BlockBuilder
from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.operators.registry import OPERATORS, operator
from neuronir.frontends.stablehlo.records import Body, Symbol
from neuronir.frontends.stablehlo.scope import Scope, captured


def _packed(b: BlockBuilder, values: Sequence[SSAValue]) -> SSAValue:
    """Return a value that holds all: the only one, or a tuple."""
    return values[0] if len(values) == 1 else b.tuple(values)


def _open(
    c: Context, names: Sequence[str], types: Sequence[Attribute]
) -> tuple[BlockBuilder, Scope]:
    """Return a block with one argument, and a scope with its elements by name."""
    packed = types[0] if len(types) == 1 else tuple_type(types)
    b = BlockBuilder(Block(arg_types=[packed]), c.b)
    argument = b.block.args[0]
    argument.location = c.b.location
    scope = Scope(c.scope)
    for i, name in enumerate(names):
        scope.values[name] = argument if len(types) == 1 else b.tuple_element(argument, i)
    return b, scope


def _loop_region(
    c: Context, body: Body, carried: Sequence[str], more: Sequence[SSAValue]
) -> Region:
    """Build a region of a loop, whose argument ends with the values from around the loop."""
    names = [*(argument.name for argument in body.arguments), *carried]
    types = [*c.op.types, *(value.type for value in more)]
    b, scope = _open(c, names, types)
    returned = [scope.values[name] for name in carried] if body is c.op.bodies[1] else []
    return c.importer.close(b, body, scope, returned)


@operator("while")
def _while(c: Context) -> Sequence[SSAValue]:
    if len(c.op.bodies) != 2:
        c.fail("a loop has a condition and a body")
    if [value.type for value in c.operands] != c.op.types:
        c.fail("the types of the results are not those of the operands", "NIR_HLO011")
    for body in c.op.bodies:
        if [argument.type for argument in body.arguments] != c.op.types:
            c.fail("the types of a region's arguments are not those of the operands", "NIR_HLO011")
    carried = captured(c.op.bodies, c.scope)
    more = [c.importer.value(name, c.scope, c.op, c.b) for name in carried]
    initial = _packed(c.b, [*c.operands, *more])
    regions = [_loop_region(c, body, carried, more) for body in c.op.bodies]
    result = c.b.emit("while", [initial], initial.type, regions=regions)
    if len(c.operands) + len(more) == 1:
        return [result]
    return [c.b.tuple_element(result, i) for i in range(len(c.operands))]


def _branches(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    operands: list[SSAValue] = [c.operands[0]]
    regions: list[Region] = []
    for body in c.op.bodies:
        names = captured([body], c.scope)
        values = [c.importer.value(name, c.scope, c.op, c.b) for name in names]
        operands.append(_packed(c.b, values))
        b, scope = _open(c, names, [value.type for value in values])
        regions.append(c.importer.close(b, body, scope))
    return c.emit("conditional", operands=operands, regions=regions)


@operator("case")
def _case(c: Context) -> Sequence[SSAValue]:
    if not c.op.bodies:
        c.fail("a case needs a branch")
    return _branches(c)


@operator("if")
def _if(c: Context) -> Sequence[SSAValue]:
    if len(c.op.bodies) != 2:
        c.fail("an if has two branches")
    return _branches(c)


def _call_function(c: Context, name: str) -> Sequence[SSAValue]:
    symbol, function = c.importer.symbol(name, c.op)
    inputs = [argument.type for argument in function.body.arguments]
    if inputs != [value.type for value in c.operands] or function.results != c.op.types:
        c.fail(f"the call does not fit the type of function @{name}", "NIR_HLO011")
    return c.emit("call", {"callee": SymbolRefAttr(symbol)})


@operator("func.call")
def _call(c: Context) -> Sequence[SSAValue]:
    return _call_function(c, c.word("callee"))


@operator("composite")
def _composite(c: Context) -> Sequence[SSAValue]:
    """Import a composite: one of CHLO as the op of this name, any other as its decomposition."""
    name = c.word("name")
    function = OPERATORS.get(name) if name.startswith("chlo.") else None
    if function is not None and c.integer("version", 0) <= 1:
        c.op.attributes.update(c.fields("composite_attributes"))
        return function(c)
    decomposition = c.op.attributes.get("decomposition")
    if not isinstance(decomposition, Symbol):
        c.fail("attribute 'decomposition' is missing")
    return _call_function(c, decomposition)


@operator("optimization_barrier")
def _optimization_barrier(c: Context) -> Sequence[SSAValue]:
    if len(c.operands) == 1:
        return c.emit("optimization_barrier")
    packed = c.b.tuple(c.operands)
    return c.emit("optimization_barrier", operands=[packed])


@operator("tuple")
def _tuple(c: Context) -> Sequence[SSAValue]:
    return c.emit("tuple")


@operator("get_tuple_element")
def _get_tuple_element(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    return c.emit("get_tuple_element", {"index": i64_attr(c.integer("index"))})
