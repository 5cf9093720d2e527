"""Build the module of an imported graph: one entry function with named inputs and outputs."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    UnitAttr,
    UnknownLoc,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.dtypes import element_type
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph.block import BlockBuilder, erase_unused

INPUT_NAMES, OUTPUT_NAMES = "hlo.input_names", "hlo.output_names"
"""Module attributes with the model's names of the parameters and flat results, in order."""


class ModuleBuilder:
    """Builds a module: declare the inputs, build ops on `builder`, then call `finish`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._block = Block()
        self._arguments: list[DictionaryAttr] = []
        self.builder = BlockBuilder(self._block)

    def input(self, name: str, type_: Attribute, location: LocationAttr | None = None) -> SSAValue:
        """Declare the next parameter of the entry."""
        argument = self._block.insert_arg(type_, len(self._block.args))
        argument.location = location or NameLoc(StringAttr(name), UnknownLoc())
        if SSAValue.is_valid_name(name):
            argument.name_hint = name
        self._arguments.append(DictionaryAttr({"hlo.name": StringAttr(name)}))
        return argument

    def bound(self, name: str, type_: Attribute, array: Array) -> SSAValue:
        """Return the constant for an input whose value is bound (NIR_IMP005)."""
        wanted = tensor_type(array.shape, element_type(array.dtype))
        if type_ != wanted:
            raise NeuronError("NIR_IMP005", f"the value of input '{name}' is {wanted}, not {type_}")
        with self.builder.at(NameLoc(StringAttr(name), UnknownLoc())):
            return self.builder.constant(array)

    def finish(self, results: Sequence[SSAValue], names: Sequence[str]) -> ModuleOp:
        """Return the module whose entry returns the results (a tuple if there are several).

        Ops without users are removed. All parameters are kept.
        """
        root = results[0] if len(results) == 1 else self.builder.tuple(results)
        self._block.add_op(FuncReturnOp.create(operands=[root]))
        erase_unused(self._block)
        function = FuncOp(
            "main",
            ([argument.type for argument in self._block.args], [root.type]),
            Region(self._block),
            arg_attrs=ArrayAttr(self._arguments),
        )
        function.attributes["hlo.entry"] = UnitAttr()
        function.attributes["hlo.name"] = StringAttr("main")
        function.location = NameLoc(StringAttr(self.name), UnknownLoc())
        return ModuleOp(
            [function],
            {
                "hlo.module_name": StringAttr(self.name),
                INPUT_NAMES: ArrayAttr([a.data["hlo.name"] for a in self._arguments]),
                OUTPUT_NAMES: ArrayAttr([StringAttr(name) for name in names]),
            },
        )
