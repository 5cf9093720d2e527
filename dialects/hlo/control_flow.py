"""Define tuples, calls, loops, branches and fusions."""

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
from neuronir.dialects.hlo.kinds import BITS_TENSOR, TOKEN, TUPLE


@irdl_op_definition
class ReturnOp(HloOp):
    """Terminate a region of an hlo op and return its root value."""

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
    """Combine the inputs into a tuple."""

    name = "hlo.tuple"

    inputs = var_operand_def()
    result = result_def(TUPLE)
    traits = traits_def(Pure())


@irdl_op_definition
class GetTupleElementOp(HloOp):
    """Extract one element of a tuple."""

    name = "hlo.get_tuple_element"

    operand = operand_def(TUPLE)
    index = prop_def(IntegerAttr[IntegerType])
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class CallOp(HloOp):
    """Call a func.func of the module."""

    name = "hlo.call"

    args = var_operand_def()
    callee = prop_def(SymbolRefAttr)
    result = result_def()


@irdl_op_definition
class WhileOp(HloOp):
    """Run body on the value, starting from init, while cond returns true."""

    name = "hlo.while"

    init = operand_def()
    trip_count = opt_prop_def(IntegerAttr[IntegerType])
    cond = region_def("single_block")
    body = region_def("single_block")
    result = result_def()
    traits = traits_def(RecursiveMemoryEffect(), IsolatedFromAbove())


@irdl_op_definition
class ConditionalOp(HloOp):
    """Run one branch on its operand.

    A pred selects branch 0 if true and branch 1 if false. An s32 index selects the branch with that
    index; an index out of range selects the last branch.
    """

    name = "hlo.conditional"

    index_or_pred = operand_def(BITS_TENSOR)
    args = var_operand_def()
    branches = var_region_def("single_block")
    result = result_def()
    traits = traits_def(RecursiveMemoryEffect(), IsolatedFromAbove())


@irdl_op_definition
class FusionOp(HloOp):
    """Run a region that XLA decided to emit as one kernel."""

    name = "hlo.fusion"

    inputs = var_operand_def()
    kind = prop_def(StringAttr)
    body = region_def("single_block")
    result = result_def()
    traits = traits_def(RecursiveMemoryEffect(), IsolatedFromAbove())


@irdl_op_definition
class CompositeOp(HloOp):
    """Name a function that was recognised in the graph; the region keeps its exact semantics."""

    name = "hlo.composite"

    inputs = var_operand_def()
    kind = prop_def(StringAttr)
    params = prop_def(DictionaryAttr, DictionaryAttr({}))
    body = region_def("single_block")
    result = result_def()
    traits = traits_def(Pure(), IsolatedFromAbove())


@irdl_op_definition
class CustomCallOp(HloOp):
    """Call a function outside HLO by name."""

    name = "hlo.custom_call"

    args = var_operand_def()
    call_target_name = prop_def(StringAttr)
    callee = opt_prop_def(SymbolRefAttr)
    result = result_def()


@irdl_op_definition
class OptimizationBarrierOp(HloOp):
    """Return the operand; no op may move across the barrier."""

    name = "hlo.optimization_barrier"

    operand = operand_def()
    result = result_def()


@irdl_op_definition
class AfterAllOp(HloOp):
    """Create a token that is available after the given tokens."""

    name = "hlo.after_all"

    inputs = var_operand_def(TOKEN)
    result = result_def(TOKEN)
    traits = traits_def(Pure())


@irdl_op_definition
class AddDependencyOp(HloOp):
    """Return the operand, available only after the token."""

    name = "hlo.add_dependency"

    operand = operand_def()
    token = operand_def(TOKEN)
    result = result_def()


@irdl_op_definition
class DomainOp(HloOp):
    """Return the operand in another sharding domain."""

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
