"""Define the ops that structure an nc program: variables, buffers, functions and calls."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    BaseAttr,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.nc.attributes import parse_defined
from neuronir.dialects.nc.data_types import verify_buffer_type
from neuronir.dialects.nc.kinds import ANYWHERE, IN_HBM, ON_CHIP
from neuronir.dialects.support.ops import NeuronOp

ROLLED = "nc.rolled"
"""Marks a loop that is neither unrolled nor pipelined. Its body already rotates buffers, so the
engines can be in different iterations.
"""


VARIABLE_KINDS = ("input", "output", "constant", "scratch", "spill")
ROLES = ("constant", "stream")


@irdl_op_definition
class VariableOp(NeuronOp):
    """A named region of HBM; kind is input, output, constant, scratch or spill.

    `type` is the memref of its buffer (HBM). `index` is the argument or result number. `layout`
    (minor to major, absent where row-major) says how a logical array maps to the buffer. A constant
    has its bytes in `value` (an hlo resource). `address` (bytes) is set by allocation.

    A variable with `members` has no memory of its own. It groups those variables contiguously:
    member k starts at row k of its type, so an address that depends on k reaches all of them.
    """

    name = "nc.variable"
    sym_name = prop_def(StringAttr)
    kind = prop_def(StringAttr)
    type = prop_def(MemRefType)
    index = opt_prop_def(IntegerAttr.constr(i64))
    # A DenseArrayBase; unconstrained, because xdsl cannot parse back a constrained one's text.
    layout = opt_prop_def(Attribute)
    value = opt_prop_def(Attribute)
    source_name = opt_prop_def(StringAttr)
    members = opt_prop_def(ArrayAttr)
    address = opt_prop_def(IntegerAttr.constr(i64))
    traits = traits_def(SymbolOpInterface())
    assembly_format = (
        "$sym_name `:` $kind $type (`index` $index^)? (`layout` $layout^)? (`value` $value^)? "
        "(`named` $source_name^)? (`of` $members^)? (`at` $address^)? attr-dict"
    )

    @staticmethod
    def make(
        name: str,
        kind: str,
        type: MemRefType,
        *,
        index: int | None = None,
        layout: Sequence[int] | None = None,
        value: Attribute | None = None,
        source_name: str | None = None,
        members: Sequence[str] = (),
    ) -> "VariableOp":
        """Create a variable; `layout` is minor to major, `members` are names of variables."""
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "kind": StringAttr(kind),
            "type": type,
        }
        if index is not None:
            properties["index"] = IntegerAttr(index, i64)
        if layout is not None:
            properties["layout"] = DenseArrayBase.from_list(i64, list(layout))
        if value is not None:
            properties["value"] = value
        if source_name is not None:
            properties["source_name"] = StringAttr(source_name)
        if members:
            properties["members"] = ArrayAttr([SymbolRefAttr(name) for name in members])
        return VariableOp.create(properties=properties)

    @property
    def member_names(self) -> list[str]:
        """Return the names of the members, in order; empty if the variable has its own memory."""
        members = self.members.data if self.members is not None else ()
        return [m.root_reference.data for m in members if isinstance(m, SymbolRefAttr)]

    def verify_(self) -> None:
        verify_buffer_type(self.type, "hbm")
        if self.kind.data not in VARIABLE_KINDS:
            raise VerifyException(
                f"@{self.sym_name.data} has the kind '{self.kind.data}'; kinds are "
                f"{', '.join(VARIABLE_KINDS)}"
            )
        rows = self.type.get_shape()[:1]
        if self.members is not None and rows != (len(self.members.data),):
            raise VerifyException(
                f"@{self.sym_name.data} has {len(self.members.data)} members and the shape "
                f"{list(self.type.get_shape())}; each member has a row"
            )


@irdl_op_definition
class AddressOfOp(NeuronOp):
    """Return the buffer of a variable."""

    name = "nc.address_of"
    variable = prop_def(FlatSymbolRefAttrConstr)
    buffer = result_def(IN_HBM)
    traits = traits_def(Pure())
    assembly_format = "$variable `:` type($buffer) attr-dict"

    @staticmethod
    def make(variable: VariableOp) -> "AddressOfOp":
        """Create the op for the buffer of `variable`."""
        return AddressOfOp.create(
            properties={"variable": SymbolRefAttr(variable.sym_name.data)},
            result_types=[variable.type],
        )


class _Allocates(MemoryEffect):
    """The only effect of the op is the allocation of its result, so an unused one is dead."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        """Return the allocation."""
        return {EffectInstance(MemoryEffectKind.ALLOC, op.results[0])}


@irdl_op_definition
class AllocOp(NeuronOp):
    """Allocate a buffer in SBUF or PSUM; the first dimension of its type is partitions.

    The buffer is live from its first write to its last read. `role` is "constant" (written once,
    read anywhere after), "stream" (a part of the weight stream, whose DMA is prefetched) or absent.
    `address` is the byte offset in each partition, set by allocation.
    """

    name = "nc.alloc"
    role = opt_prop_def(StringAttr)
    address = opt_prop_def(IntegerAttr.constr(i64))
    buffer = result_def(ON_CHIP)
    traits = traits_def(_Allocates())
    JUDGED_BY_TYPES: ClassVar[bool] = True
    """Whether types and properties decide if an op without regions is right."""
    assembly_format = "($role^)? (`at` $address^)? `:` type($buffer) attr-dict"

    @staticmethod
    def make(type: MemRefType, role: str | None = None) -> "AllocOp":
        """Create a buffer of `type`."""
        properties: dict[str, Attribute] = {}
        if role is not None:
            properties["role"] = StringAttr(role)
        return AllocOp.create(properties=properties, result_types=[type])

    def verify_(self) -> None:
        verify_buffer_type(self.buffer.type, "sbuf", "psum")
        if self.role is not None and self.role.data not in ROLES:
            raise VerifyException(
                f"has the role '{self.role.data}'; roles are {', '.join(ROLES)}, or none"
            )


@irdl_op_definition
class FuncOp(NeuronOp):
    """Define a function of the program, which every engine runs.

    Its arguments are index values and buffers (memrefs), which are passed by address. `@main` is
    the entry and has no arguments.
    """

    name = "nc.func"
    sym_name = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())
    assembly_format = "$sym_name $body attr-dict"

    @staticmethod
    def make(name: str, arguments: Sequence[Attribute] = ()) -> "FuncOp":
        """Create an empty function with arguments of these types."""
        block = Block(arg_types=arguments)
        return FuncOp.create(properties={"sym_name": StringAttr(name)}, regions=[Region(block)])


@irdl_op_definition
class ReturnOp(NeuronOp):
    """Terminate a function."""

    name = "nc.return"
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"


@irdl_op_definition
class CallOp(NeuronOp):
    """Call a function: `nc.call @layer(%i, %weights)`.

    An index argument is an iteration number, a base address or a semaphore base. A buffer argument
    passes its base address.
    """

    name = "nc.call"
    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def(BaseAttr(IndexType) | ANYWHERE)

    @staticmethod
    def make(callee: str, arguments: Sequence[SSAValue]) -> "CallOp":
        """Create a call of the function named `callee`."""
        properties = {"callee": SymbolRefAttr(callee)}
        return CallOp.create(operands=list(arguments), properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> "CallOp":
        """Parse `@callee(%argument, ...)`; the types are those of the values."""
        callee = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parse_defined(parser)
        )
        call = CallOp.make(callee.data, arguments)
        call.attributes = dict(parser.parse_optional_attr_dict())
        return call

    def print(self, printer: Printer) -> None:
        """Print the form that `parse` reads."""
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        with printer.in_parens():
            printer.print_list(self.arguments, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
