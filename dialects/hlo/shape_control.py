"""Infer the types of tuples, calls, loops, branches, fusions and collectives."""

from xdsl.dialects.builtin import IntegerType, Signedness, SymbolRefAttr, TensorType, TupleType, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable

from neuronir.dialects.hlo.attributes import TokenType, tensor_type, tuple_type
from neuronir.dialects.hlo.shape_rules import (
    PRED,
    Check,
    Infer,
    Properties,
    Types,
    Violation,
    dims_of,
    index,
    need_region,
    packed,
    scalar_of,
)


def _tuple(types: Types, properties: Properties) -> Attribute:
    return tuple_type(types)


def _get_tuple_element(types: Types, properties: Properties) -> Attribute:
    operand = types[0]
    if not isinstance(operand, TupleType):
        raise Violation("C1", f"operand must be a tuple, is {operand}")
    position = index(properties, "index")
    if not 0 <= position < len(operand.types.data):
        raise Violation("C2", f"index {position} must be below the size of {operand}")
    return operand.types.data[position]


def _call(op: Operation) -> None:
    callee = op.properties.get("callee")
    if not isinstance(callee, SymbolRefAttr):
        return
    target = SymbolTable.lookup_symbol(op, callee)
    if not isinstance(target, FuncOp):
        raise Violation("C1", f"callee {callee} must be a function of the module")
    if op.name != "hlo.call":
        return
    inputs = [value.type for value in op.operands]
    if list(target.function_type.inputs.data) != inputs:
        raise Violation("C2", f"operands must have the types of {callee} {target.function_type}")
    if list(target.function_type.outputs.data) != [op.results[0].type]:
        raise Violation("C3", f"result must have the type of {callee} {target.function_type}")


def _first(types: Types, properties: Properties) -> Attribute:
    return types[0]


def _while(op: Operation) -> None:
    carried = op.operands[0].type
    cond, body = op.regions
    need_region("C1", "cond", cond.blocks.first, [carried], PRED)
    need_region("C2", "body", body.blocks.first, [carried], carried)


def _conditional(op: Operation) -> None:
    selector, arguments = op.operands[0].type, op.operands[1:]
    if selector == PRED:
        if len(op.regions) != 2:
            raise Violation("C1", f"a pred chooses one of 2 branches, not of {len(op.regions)}")
    elif selector != tensor_type((), i32):
        raise Violation("C2", f"index must be a scalar i1 or i32, is {selector}")
    if len(arguments) != len(op.regions) or not arguments:
        raise Violation(
            "C3",
            f"must have one operand for each of {len(op.regions)} branches, has {len(arguments)}",
        )
    for i, (value, region) in enumerate(zip(arguments, op.regions, strict=True)):
        block = region.blocks.first
        need_region("C4", f"branch {i}", block, [value.type], op.results[0].type)


def _region_of_operands(op: Operation) -> None:
    """Infer the type of a fusion or composite: that of its region, applied to its operands."""
    types = [value.type for value in op.operands]
    need_region("C1", "the region", op.regions[0].blocks.first, types, op.results[0].type)


def _after_all(types: Types, properties: Properties) -> Attribute:
    for type in types:
        if not isinstance(type, TokenType):
            raise Violation("C1", f"operands must be tokens, one is {type}")
    return TokenType()


def _packed(types: Types, properties: Properties) -> Attribute:
    if not types:
        raise Violation("C1", "there must be at least one operand")
    return packed(types)


def _all_reduce(op: Operation) -> None:
    scalars = {scalar_of(value.type) for value in op.operands}
    for scalar in scalars:
        need_region("C2", "the region", op.regions[0].blocks.first, [scalar, scalar], scalar)


def _leaves(type: Attribute) -> list[Attribute]:
    return list(type.types.data) if isinstance(type, TupleType) else [type]


def _scaled(op: Operation) -> None:
    """all_gather and reduce_scatter scale one dimension by an integer factor."""
    dimension = index(op.properties, "dimension")
    results = _leaves(op.results[0].type)
    if len(results) != len(op.operands):
        raise Violation("C1", f"{len(op.operands)} operands give as many results")
    for value, result in zip(op.operands, results, strict=True):
        before, after = list(dims_of(value.type, "operand")), list(dims_of(result, "result"))
        if not 0 <= dimension < len(before) or len(before) != len(after):
            raise Violation("C2", f"dimension {dimension} must be one of {value.type}")
        small, large = sorted((before[dimension], after[dimension]))
        before[dimension] = after[dimension] = 0
        if before != after or (small and large % small):
            raise Violation(
                "C3", f"{value.type} cannot become {result} along dimension {dimension}"
            )


def _u32(types: Types, properties: Properties) -> Attribute:
    return _U32


_U32 = tensor_type((), IntegerType(32, Signedness.UNSIGNED))


def _rng(op: Operation) -> None:
    result = op.results[0].type
    for value in op.operands:
        if not isinstance(result, TensorType) or value.type != scalar_of(result):
            raise Violation("C1", f"parameters must be scalars of {result}, one is {value.type}")


def _rng_bits(op: Operation) -> None:
    parts = _leaves(op.results[0].type)
    if len(parts) == 2 and parts[0] != op.operands[0].type:
        raise Violation("C1", f"the new state must have type {op.operands[0].type}, has {parts[0]}")


INFER: dict[str, Infer] = {
    "hlo.tuple": _tuple,
    "hlo.get_tuple_element": _get_tuple_element,
    "hlo.while": _first,
    "hlo.optimization_barrier": _first,
    "hlo.add_dependency": _first,
    "hlo.domain": _first,
    "hlo.after_all": _after_all,
    "hlo.all_reduce": _packed,
    "hlo.collective_permute": _packed,
    "hlo.collective_broadcast": _packed,
    "hlo.partition_id": _u32,
    "hlo.replica_id": _u32,
}

CHECK: dict[str, Check] = {
    "hlo.call": _call,
    "hlo.custom_call": _call,
    "hlo.async_start": _call,
    "hlo.while": _while,
    "hlo.conditional": _conditional,
    "hlo.fusion": _region_of_operands,
    "hlo.composite": _region_of_operands,
    "hlo.all_reduce": _all_reduce,
    "hlo.reduce_scatter": _scaled,
    "hlo.all_gather": _scaled,
    "hlo.rng": _rng,
    "hlo.rng_bit_generator": _rng_bits,
}
