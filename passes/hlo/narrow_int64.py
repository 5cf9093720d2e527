"""hlo-narrow-int64: rewrite 64-bit integers as 32-bit integers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    StringAttr,
    TensorType,
    TupleType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from neuronir.dialects.hlo.attributes import tensor_type, tuple_type
from neuronir.dialects.hlo.constants import constant_array, constant_value
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import file_line_col, source_name
from neuronir.dialects.support.walking import walk
from neuronir.passes.hlo.ranges.bounds import input_bounds
from neuronir.passes.hlo.support.build import reducer_opcode
from neuronir.passes.hlo.support.walk import entry, functions
from neuronir.passes.statistics import record

U32 = IntegerType(32, Signedness.UNSIGNED)
U64 = IntegerType(64, Signedness.UNSIGNED)
_NARROW: dict[Attribute, Attribute] = {i64: i32, U64: U32}
_NUMPY: dict[Attribute, type[np.integer[Any]]] = {i32: np.int32, U32: np.uint32}

WIDE_INPUTS, WIDE_OUTPUTS = "hlo.wide_inputs", "hlo.wide_outputs"
"""Module attributes: the 64-bit types (`int64`) of arguments and flat results, by number."""
INPUT_RANGES = "hlo.input_ranges"
"""Module attribute: [low, high] of arguments within which 32 bits are enough, by number."""

_BITS = frozenset(
    f"hlo.{name}"
    for name in "bitcast_convert count_leading_zeros popcnt rng "
    "rng_bit_generator rng_get_and_update_state custom_call".split()
)
"""Ops whose result depends on the width."""


def _narrow(type_: Attribute) -> Attribute:
    if isinstance(type_, TensorType):
        small = _NARROW.get(type_.element_type)
        return type_ if small is None else tensor_type(type_.get_shape(), small)
    if isinstance(type_, TupleType):
        parts = [_narrow(t) for t in type_.types.data]
        return type_ if parts == list(type_.types.data) else tuple_type(parts)
    return type_


def _is_wide(type_: Attribute) -> bool:
    return _narrow(type_) != type_


def _wide_leaves(types: list[Attribute]) -> DictionaryAttr:
    """Return the 64-bit types among flat types, by number."""
    found: dict[str, Attribute] = {}
    for i, type_ in enumerate(types):
        if isinstance(type_, TensorType) and type_.element_type in _NARROW:
            name = "int64" if type_.element_type == i64 else "uint64"
            found[str(i)] = StringAttr(name)
    return DictionaryAttr(found)


def _leaves(type_: Attribute) -> list[Attribute]:
    if isinstance(type_, TupleType):
        return [leaf for t in type_.types.data for leaf in _leaves(t)]
    return [type_]


class TooWide(NeuronError):
    """The error NCC_ESPP004, about an op whose 64-bit integers do not fit in 32 bits."""

    def __init__(self, op: Operation, why: str) -> None:
        self.op = op
        self.why = why
        super().__init__(
            "NCC_ESPP004",
            f"'{source_name(op)}' ({op.name}): {why}",
            location=file_line_col(op),
            help="the machine has no 64-bit integers: cast to 32 bits, or clip before the cast",
        )


def _check(op: Operation) -> None:
    """Raise NCC_ESPP004 if the result depends on the width, even though all values fit in 32
    bits.
    """
    wide = any(_is_wide(t) for t in (*op.operand_types, *op.result_types))
    if wide and op.name in _BITS:
        raise TooWide(op, "it depends on the 64 bits of its integers")


def _retype(value: SSAValue) -> int:
    small = _narrow(value.type)
    if small == value.type:
        return 0
    new = Rewriter.replace_value_with_new_type(value, small)
    new.name_hint = value.name_hint
    if isinstance(new, BlockArgument) and isinstance(value, BlockArgument):
        new.location = value.location
    return 1


def _constant(op: Operation) -> None:
    type_ = op.results[0].type
    if not isinstance(type_, TensorType) or type_.element_type not in _NARROW:
        return
    small = _NARROW[type_.element_type]
    array = constant_array(op)
    narrowed = array.astype(_NUMPY[small])
    if not np.array_equal(narrowed.astype(array.dtype), array):
        limits = np.iinfo(_NUMPY[small])
        below, above = int(array.min()) < limits.min, int(array.max()) > limits.max
        opcode = "maximum" if below else "minimum"
        if (below and above) or not _never_chosen(op.results[0], opcode):
            raise TooWide(op, "the constant does not fit in 32 bits")
        narrowed = np.clip(array, limits.min, limits.max).astype(_NUMPY[small])
    op.properties["value"] = constant_value(narrowed, tensor_type(type_.get_shape(), small))


def _note_ranges(module: ModuleOp, block: Block) -> None:
    """Record the input bounds for which all values fit in 32 bits.

    Raises NCC_ESPP004 with an op if there are no such bounds.
    """
    bounds, overflow = input_bounds(block)
    if overflow is not None:
        raise TooWide(overflow, "its 64-bit integers may exceed 32 bits, whatever the inputs")
    if bounds:
        found: dict[str, Attribute] = {
            str(i): ArrayAttr([StringAttr(str(n)) for n in (b.low, b.high)])
            for i, b in bounds.items()
        }
        module.attributes[INPUT_RANGES] = DictionaryAttr(found)


_PASSES_ON = frozenset(("hlo.broadcast", "hlo.reshape", "hlo.slice", "hlo.transpose"))


def _never_chosen(value: SSAValue, opcode: str) -> bool:
    """Return whether all users of a value take its `maximum` (`minimum`) with other values.

    A value below (above) the 32-bit range can then be clamped to it.
    """
    bound = 0 if opcode == "maximum" else 2
    for use in value.uses:
        op = use.operation
        if op.name in _PASSES_ON or (op.name == "hlo.pad" and use.index == 1):
            if not _never_chosen(op.results[0], opcode):
                return False
        elif op.name in ("hlo.reduce", "hlo.reduce_window"):
            if reducer_opcode(op) != opcode:
                return False
        elif op.name == "hlo.clamp":
            if use.index not in (1, bound):
                return False
        elif op.name != f"hlo.{opcode}":
            return False
    return True


@dataclass(frozen=True)
class HloNarrowInt64Pass(ModulePass):
    """Compute 64-bit integers in 32 bits.

    Signed integers become s32 and unsigned ones u32, in all functions and regions. Module
    attributes keep the types of the entry's arguments and results, so that the runtime can check
    inputs and convert results. The results are those of 64 bits: an interval analysis finds the
    values that may exceed 32 bits and derives bounds on the inputs that prevent it. The attribute
    `hlo.input_ranges` keeps the bounds for a check at run time.

    It is an error if an op may exceed 32 bits for any bounds, if a constant does not fit (unless a
    maximum or minimum never selects it), or if the result of an op depends on the width (bit
    casts, random bits). Needs inlined calls and unrolled loops.
    """

    name = "hlo-narrow-int64"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = entry(op)
        if main is not None:
            inputs = _wide_leaves(list(main.function_type.inputs.data))
            results = [leaf for t in main.function_type.outputs.data for leaf in _leaves(t)]
            for name, found in ((WIDE_INPUTS, inputs), (WIDE_OUTPUTS, _wide_leaves(results))):
                if found.data and name not in op.attributes:
                    op.attributes[name] = found
            for inner in walk(main):
                _check(inner)
            _note_ranges(op, main.body.block)
        count = 0
        for function in functions(op):
            for inner in walk(function):
                _check(inner)
            for inner in list(walk(function)):
                if inner.name == "hlo.constant":
                    _constant(inner)
                count += sum(_retype(result) for result in list(inner.results))
                for region in inner.regions:
                    for block in region.blocks:
                        count += sum(_retype(argument) for argument in list(block.args))
            function.update_function_type()
        record(self.name, "narrowed", count)
