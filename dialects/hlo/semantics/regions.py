"""Turn regions of scalars (reducers, comparators, map) into functions on whole arrays."""

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region

from neuronir.dialects.hlo.semantics.elementwise import ELEMENTWISE
from neuronir.dialects.hlo.semantics.execution import BlockPlan
from neuronir.dialects.hlo.semantics.numeric import Array, Value
from neuronir.dialects.hlo.semantics.reducer import Reducer
from neuronir.dialects.hlo.semantics.registry import is_scalar, unsupported
from neuronir.dialects.hlo.semantics.symbols import callee_of

_SINGLE_OPS = frozenset(("add", "multiply", "maximum", "minimum", "and", "or", "xor"))
# Elementwise ops, and ops that move nothing if all shapes are scalar.
_POINTWISE = frozenset(
    [f"hlo.{name}" for name in ELEMENTWISE]
    + [
        "hlo.bitcast",
        "hlo.bitcast_convert",
        "hlo.broadcast",
        "hlo.compare",
        "hlo.constant",
        "hlo.convert",
        "hlo.get_tuple_element",
        "hlo.optimization_barrier",
        "hlo.reduce_precision",
        "hlo.reshape",
        "hlo.return",
        "hlo.transpose",
        "hlo.tuple",
        "func.return",
    ]
)
_NESTED = frozenset(("hlo.call", "hlo.composite", "hlo.fusion"))


def only_block(region: Region) -> Block:
    """Return the single block of a computation's region."""
    return region.block


def is_pointwise(block: Block) -> bool:
    """Return whether the block computes on scalars with elementwise ops only."""
    if not all(is_scalar(arg.type) for arg in block.args):
        return False
    for op in block.ops:
        if op.name in _NESTED:
            if not all(is_pointwise(inner) for inner in nested_blocks(op)):
                return False
        elif op.name not in _POINTWISE:
            return False
        for result in op.results:
            if isinstance(result.type, TensorType) and not is_scalar(result.type):
                return False
    return True


def nested_blocks(op: Operation) -> list[Block]:
    """Return the blocks that a call, fusion or composite runs."""
    if op.name == "hlo.call":
        callee: FuncOp = callee_of(op)
        return [callee.body.block]
    return [region.block for region in op.regions]


def flatten(value: Value) -> list[Array]:
    """Return the arrays of a (nested) tuple, depth first."""
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in flatten(part)]
    return [value]


def array_function(block: Block) -> Callable[..., tuple[Array, ...]]:
    """Return a computation on scalars as an elementwise function of arrays of one shape."""
    if is_pointwise(block):
        pointwise = BlockPlan(block, pointwise=True)

        def vectorised(*arrays: Array) -> tuple[Array, ...]:
            leaves = [leaf for value in pointwise.run(arrays) for leaf in flatten(value)]
            return tuple(np.asarray(leaf) for leaf in leaves)

        return vectorised
    plan = BlockPlan(block)

    def one_by_one(*arrays: Array) -> tuple[Array, ...]:
        spread = np.broadcast_arrays(*arrays)
        shape = spread[0].shape
        rows = []
        for index in np.ndindex(shape):
            values = plan.run([np.asarray(x[index]) for x in spread])
            rows.append([leaf for value in values for leaf in flatten(value)])
        if not rows:
            return tuple(np.broadcast_to(x, shape) for x in spread[: len(spread) // 2])
        return tuple(np.stack(column).reshape(shape) for column in zip(*rows, strict=True))

    return one_by_one


def single_array_function(op: Operation, region: Region) -> Callable[..., Array]:
    """Return the `array_function` of a region that returns one value."""
    function = array_function(only_block(region))

    def run(*arrays: Array) -> Array:
        results = function(*arrays)
        if len(results) != 1:
            raise unsupported(op, f"the computation of '{op.name}' returns several values")
        return results[0]

    return run


def reducer_of(region: Region) -> Reducer:
    """Return the combiner of a region, with its kind if it is a single known op."""
    block = only_block(region)
    return Reducer(array_function(block), combiner_kind(block))


def combiner_kind(block: Block) -> str | None:
    """Return the opcode of a combiner of two scalars if it is a single op.

    The result is "second" if the combiner returns the new value, and None for other computations.
    """
    *body, terminator = list(block.ops)
    if len(block.args) != 2 or len(terminator.operands) != 1:
        return None
    if not body:
        return "second" if terminator.operands[0] is block.args[1] else None
    if len(body) != 1 or terminator.operands[0] is not body[0].results[0]:
        return None
    name = body[0].name.removeprefix("hlo.")
    if name not in _SINGLE_OPS or {*body[0].operands} != {*block.args}:
        return None
    return name
