"""Build hlo ops: `Builder`, and `Emitter`, which builds before an op that is replaced."""

import abc
from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, TensorType, TupleType, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation

from neuronir.dialects.hlo import HLO
from neuronir.dialects.hlo.attributes import i64_array, i64_attr, string_attr
from neuronir.dialects.hlo.constants import constant_op
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.hlo.shape_inference import infer_result_type
from neuronir.dialects.support.dtypes import np_dtype
from neuronir.dialects.support.lazy import LazyArray
from neuronir.dialects.support.location import inherit
from neuronir.passes.hlo.support.values import element, shape, shape_of, tensor

OP_CLASSES: dict[str, type[Operation]] = {op.name: op for op in HLO.operations}

PropertyValue = Attribute | bool | int | str | Sequence[int]
"""A property argument of `Builder.op`: an attribute, or its value."""


class Builder(abc.ABC):
    """Creates hlo ops; subclasses define the insertion point and the location."""

    @abc.abstractmethod
    def insert(self, op: Operation) -> Operation:
        """Insert an existing op at the insertion point."""

    def op(
        self,
        opcode: str,
        operands: Sequence[SSAValue],
        regions: Sequence[Region] = (),
        **properties: PropertyValue,
    ) -> SSAValue:
        """Create a single-result op whose operands and properties determine its type.

        Omitted properties have their defaults. Raises VerifyException with the violated shape rule,
        and KeyError if the type is not determined (use `emit`).
        """
        name = f"hlo.{opcode}"
        given = _defaults(name) | {k: property_attr(v) for k, v in properties.items()}
        result = infer_result_type(name, [v.type for v in operands], given)
        return self.emit(opcode, operands, result, given, regions)

    def emit(
        self,
        opcode: str,
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> SSAValue:
        """Create any single-result hlo op."""
        op = OP_CLASSES[f"hlo.{opcode}"].create(
            operands=operands,
            result_types=[result],
            properties=properties or {},
            regions=regions,
        )
        return self.insert(op).results[0]

    def like(self, op: Operation, operands: Sequence[SSAValue], result: Attribute) -> SSAValue:
        """Create the same kind of op with the same properties on other operands (no regions)."""
        return self.emit(op.name.removeprefix("hlo."), operands, result, op.properties)

    # --- constants ------------------------------------------------------------------------------

    def constant(
        self, array: Array | LazyArray, *, element: Attribute | None = None, owned: bool = False
    ) -> SSAValue:
        """Create a constant; an `owned` array is given up by the caller.

        `element` is the element type, if not that of the dtype.
        """
        return self.insert(constant_op(array, element=element, owned=owned)).results[0]

    def scalar(self, number: complex | Array, element_type: Attribute) -> SSAValue:
        """Create a rank-0 constant of the element type."""
        array = np.asarray(number).astype(np_dtype(element_type)).reshape(())
        return self.constant(array, element=element_type)

    def fill(self, number: complex | Array, type_: Attribute) -> SSAValue:
        """Create a uniform tensor of this type: a scalar constant and a broadcast."""
        if not isinstance(type_, TensorType):
            raise TypeError("fill needs a tensor type")
        value = self.scalar(number, type_.element_type)
        return value if not shape_of(type_) else self.broadcast(value, shape_of(type_), ())

    def fill_like(self, number: complex | Array, value: SSAValue) -> SSAValue:
        """Create a uniform tensor of the type of `value`."""
        return self.fill(number, value.type)

    # --- elementwise ----------------------------------------------------------------------------

    def unary(self, opcode: str, operand: SSAValue) -> SSAValue:
        """Create a unary op with the operand's type."""
        return self.emit(opcode, [operand], operand.type)

    def binary(self, opcode: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Create a binary op with the operands' type."""
        return self.emit(opcode, [lhs, rhs], lhs.type)

    def binary_number(self, opcode: str, lhs: SSAValue, number: complex) -> SSAValue:
        """Create a binary op with a uniform right operand."""
        return self.binary(opcode, lhs, self.fill_like(number, lhs))

    def compare(self, lhs: SSAValue, rhs: SSAValue, direction: str) -> SSAValue:
        """Compare (EQ NE LT LE GT GE)."""
        properties = {"direction": string_attr(direction)}
        return self.emit("compare", [lhs, rhs], tensor(shape(lhs), i1), properties)

    def compare_number(self, lhs: SSAValue, number: complex, direction: str) -> SSAValue:
        """Compare with a uniform value."""
        return self.compare(lhs, self.fill_like(number, lhs), direction)

    def select(self, pred: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        """Select elementwise."""
        return self.emit("select", [pred, on_true, on_false], on_true.type)

    def convert(self, operand: SSAValue, element_type: Attribute) -> SSAValue:
        """Convert, or return the operand if it already has the type."""
        if element(operand) == element_type:
            return operand
        return self.emit("convert", [operand], tensor(shape(operand), element_type))

    def bitcast(self, operand: SSAValue, element_type: Attribute) -> SSAValue:
        """Bitcast to an element type of the same width."""
        if element(operand) == element_type:
            return operand
        return self.emit("bitcast_convert", [operand], tensor(shape(operand), element_type))

    # --- shapes ---------------------------------------------------------------------------------

    def reshape(self, operand: SSAValue, dims: Sequence[int]) -> SSAValue:
        """Reshape, or return the operand if it already has the shape."""
        if shape(operand) == tuple(dims):
            return operand
        return self.emit("reshape", [operand], tensor(tuple(dims), element(operand)))

    def broadcast(
        self, operand: SSAValue, dims: Sequence[int], dimensions: Sequence[int]
    ) -> SSAValue:
        """Broadcast to the shape `dims`; operand dimension i maps to `dimensions[i]`."""
        if shape(operand) == tuple(dims) and tuple(dimensions) == tuple(range(len(dims))):
            return operand
        properties = {"dimensions": i64_array(dimensions)}
        return self.emit("broadcast", [operand], tensor(tuple(dims), element(operand)), properties)

    def transpose(self, operand: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """Transpose: result dimension i is operand dimension `permutation[i]`."""
        if tuple(permutation) == tuple(range(len(permutation))):
            return operand
        dims = tuple(shape(operand)[p] for p in permutation)
        properties = {"permutation": i64_array(permutation)}
        return self.emit("transpose", [operand], tensor(dims, element(operand)), properties)

    def slice(
        self,
        operand: SSAValue,
        starts: Sequence[int],
        limits: Sequence[int],
        strides: Sequence[int] | None = None,
    ) -> SSAValue:
        """Slice with strides, or return the operand if the slice is full."""
        strides = [1] * len(starts) if strides is None else strides
        dims = tuple(
            max(0, -(-(hi - lo) // step))
            for lo, hi, step in zip(starts, limits, strides, strict=True)
        )
        if dims == shape(operand) and all(s == 1 for s in strides):
            return operand
        properties = {
            "start_indices": i64_array(starts),
            "limit_indices": i64_array(limits),
            "strides": i64_array(strides),
        }
        return self.emit("slice", [operand], tensor(dims, element(operand)), properties)

    def pad(
        self,
        operand: SSAValue,
        value: SSAValue,
        low: Sequence[int],
        high: Sequence[int],
        interior: Sequence[int] | None = None,
    ) -> SSAValue:
        """Pad; negative amounts cut."""
        interior = [0] * len(low) if interior is None else interior
        dims = tuple(
            lo + hi + n + max(0, n - 1) * gap
            for lo, hi, n, gap in zip(low, high, shape(operand), interior, strict=True)
        )
        if not any((*low, *high, *interior)):
            return operand
        properties = {
            "edge_padding_low": i64_array(low),
            "edge_padding_high": i64_array(high),
            "interior_padding": i64_array(interior),
        }
        return self.emit("pad", [operand, value], tensor(dims, element(operand)), properties)

    def concatenate(self, operands: Sequence[SSAValue], dimension: int) -> SSAValue:
        """Concatenate; a single operand is returned."""
        if len(operands) == 1:
            return operands[0]
        dims = list(shape(operands[0]))
        dims[dimension] = sum(shape(v)[dimension] for v in operands)
        properties = {"dimension": i64_attr(dimension)}
        return self.emit(
            "concatenate", operands, tensor(tuple(dims), element(operands[0])), properties
        )

    def reverse(self, operand: SSAValue, dimensions: Sequence[int]) -> SSAValue:
        """Reverse dimensions, or return the operand if there are none."""
        return self.op("reverse", [operand], dimensions=dimensions) if dimensions else operand

    def iota(self, dims: Sequence[int], dimension: int, element_type: Attribute) -> SSAValue:
        """Count along one dimension."""
        properties = {"iota_dimension": i64_attr(dimension)}
        return self.emit("iota", [], tensor(tuple(dims), element_type), properties)

    # --- reductions, tuples ---------------------------------------------------------------------

    def reduce(
        self, operand: SSAValue, init: complex | Array, dims: Sequence[int], opcode: str
    ) -> SSAValue:
        """Reduce dimensions with a binary opcode, starting from a constant."""
        if not dims:
            return operand
        initial = self.scalar(init, element(operand))
        kept = tuple(n for i, n in enumerate(shape(operand)) if i not in set(dims))
        return self.emit(
            "reduce",
            [operand, initial],
            tensor(kept, element(operand)),
            {"dimensions": i64_array(dims)},
            [binary_region(opcode, element(operand))],
        )

    def tuple(self, operands: Sequence[SSAValue]) -> SSAValue:
        """Create a tuple of values."""
        return self.emit(
            "tuple", operands, TupleType(ArrayAttr([cast(TypeAttribute, v.type) for v in operands]))
        )

    def tuple_element(self, operand: SSAValue, index: int) -> SSAValue:
        """Return an element of a tuple value; for a hlo.tuple op, the operand itself."""
        owner = operand.owner
        if isinstance(owner, Operation) and owner.name == "hlo.tuple":
            return owner.operands[index]
        if not isinstance(operand.type, TupleType):
            raise TypeError("tuple_element needs a tuple value")
        types = operand.type.types.data
        return self.emit("get_tuple_element", [operand], types[index], {"index": i64_attr(index)})


class Emitter(Builder):
    """Creates ops immediately before `anchor`, inheriting its location and metadata.

    `created` lists them in program order, so that a driver can visit them again.
    """

    def __init__(self, anchor: Operation, source: Operation | None = None) -> None:
        self.anchor = anchor
        self.source = anchor if source is None else source
        self.created: list[Operation] = []

    def insert(self, op: Operation) -> Operation:
        """Insert an existing op before the anchor, with the anchor's location."""
        inherit(op, self.source)
        block = self.anchor.parent
        if block is None:
            raise ValueError("the anchor is not in a block")
        block.insert_op_before(op, self.anchor)
        self.created.append(op)
        return op


def property_attr(value: PropertyValue) -> Attribute:
    """Return the attribute of a property: i64, bool, string or index list."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, bool):
        return BoolAttr.from_bool(value)
    if isinstance(value, int):
        return i64_attr(value)
    return string_attr(value) if isinstance(value, str) else i64_array(value)


@cache
def _defaults(name: str) -> dict[str, Attribute]:
    op_type = OP_CLASSES[name]
    assert issubclass(op_type, IRDLOperation)
    definitions = op_type.get_irdl_definition().properties
    return {k: d.default_value for k, d in definitions.items() if d.default_value is not None}


def binary_region(opcode: str, element_type: Attribute) -> Region:
    """Build the region of a reduction with one binary opcode."""
    scalar = tensor((), element_type)
    block = Block(arg_types=[scalar, scalar])
    op = OP_CLASSES[f"hlo.{opcode}"].create(operands=block.args, result_types=[scalar])
    block.add_op(op)
    block.add_op(OP_CLASSES["hlo.return"].create(operands=op.results))
    return Region(block)


def reducer_opcode(op: Operation, region: int = 0) -> str | None:
    """Return the binary opcode (`add`, `maximum`, ...) that a region applies to its two
    arguments.
    """
    block = op.regions[region].blocks.first
    if block is None or len(block.args) != 2:
        return None
    body, last = block.first_op, block.last_op
    if body is None or last is None or body.next_op is not last or len(last.operands) != 1:
        return None
    if len(body.operands) != 2 or body.results[0] is not last.operands[0]:
        return None
    if {body.operands[0], body.operands[1]} != set(block.args):
        return None
    opcode = body.name.removeprefix("hlo.")
    return opcode if opcode in COMMUTATIVE else None


COMMUTATIVE = frozenset(("add", "multiply", "maximum", "minimum", "and", "or", "xor"))
