"""Tuples, calls, loops, branches, fusions, and what binds them together."""

from typing import Self

from xdsl.dialects.builtin import (
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, RecursiveMemoryEffect

from neuronir.dialects.hlo.base import HloOp


@irdl_op_definition
class ReturnOp(HloOp):
    """Ends a region of an hlo op with its root value."""

    name = "hlo.return"

    value = operand_def()
    traits = traits_def(IsTerminator(), Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `%value {attributes} : type`."""
        unresolved = parser.parse_unresolved_operand()
        attributes = dict(parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(unresolved, parser.parse_type())
        return cls.create(operands=[operand], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print the form that `parse` reads."""
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


@irdl_op_definition
class TupleOp(HloOp):
    """A tuple of the inputs."""

    name = "hlo.tuple"

    inputs = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class GetTupleElementOp(HloOp):
    """One element of a tuple."""

    name = "hlo.get_tuple_element"

    operand = operand_def()
    index = prop_def(IntegerAttr[IntegerType])
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class CallOp(HloOp):
    """Apply a func.func of the module."""

    name = "hlo.call"

    args = var_operand_def()
    callee = prop_def(SymbolRefAttr)
    result = result_def()


@irdl_op_definition
class WhileOp(HloOp):
    """Apply body to the value, beginning with init, as long as cond holds for it."""

    name = "hlo.while"

    init = operand_def()
    trip_count = opt_prop_def(IntegerAttr[IntegerType])
    cond = region_def("single_block")
    body = region_def("single_block")
    result = result_def()
    traits = traits_def(RecursiveMemoryEffect(), IsolatedFromAbove())


@irdl_op_definition
class ConditionalOp(HloOp):
    """Apply one branch to its operand.

    A pred chooses branch 0 when true and 1 when false; an s32 index chooses by number, and any
    index out of range chooses the last branch.
    """

    name = "hlo.conditional"

    index_or_pred = operand_def()
    args = var_operand_def()
    branches = var_region_def("single_block")
    result = result_def()
    traits = traits_def(RecursiveMemoryEffect(), IsolatedFromAbove())


@irdl_op_definition
class FusionOp(HloOp):
    """A computation that XLA chose to emit as one kernel; it means its region."""

    name = "hlo.fusion"

    inputs = var_operand_def()
    kind = prop_def(StringAttr)
    body = region_def("single_block")
    result = result_def()
    traits = traits_def(RecursiveMemoryEffect(), IsolatedFromAbove())


@irdl_op_definition
class CompositeOp(HloOp):
    """A named function found in the graph; the region, on the inputs, keeps its exact meaning."""

    name = "hlo.composite"

    inputs = var_operand_def()
    kind = prop_def(StringAttr)
    params = prop_def(DictionaryAttr, DictionaryAttr({}))
    body = region_def("single_block")
    result = result_def()
    traits = traits_def(Pure(), IsolatedFromAbove())


@irdl_op_definition
class CustomCallOp(HloOp):
    """Apply a function outside HLO, known by name."""

    name = "hlo.custom_call"

    args = var_operand_def()
    call_target_name = prop_def(StringAttr)
    callee = opt_prop_def(SymbolRefAttr)
    result = result_def()


@irdl_op_definition
class OptimizationBarrierOp(HloOp):
    """The operand; nothing moves across."""

    name = "hlo.optimization_barrier"

    operand = operand_def()
    result = result_def()


@irdl_op_definition
class AfterAllOp(HloOp):
    """A token that comes after the given tokens."""

    name = "hlo.after_all"

    inputs = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class AddDependencyOp(HloOp):
    """The operand, available only after the token."""

    name = "hlo.add_dependency"

    operand = operand_def()
    token = operand_def()
    result = result_def()


@irdl_op_definition
class DomainOp(HloOp):
    """The operand, crossing from one sharding domain to another."""

    name = "hlo.domain"

    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())


CONTROL_FLOW_OPS = (
    ReturnOp,
    TupleOp,
    GetTupleElementOp,
    CallOp,
    WhileOp,
    ConditionalOp,
    FusionOp,
    CompositeOp,
    CustomCallOp,
    OptimizationBarrierOp,
    AfterAllOp,
    AddDependencyOp,
    DomainOp,
)
