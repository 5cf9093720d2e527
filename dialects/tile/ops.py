"""What hlo, scf and tensor lack at the tiled level: changes of layout, memories, and numbers of
rounds."""

from xdsl.dialects.builtin import IndexType, StringAttr, TensorType
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.tile import semantics
from neuronir.dialects.tile.layout import LayoutAttr, layout_of

assert semantics  # importing it registers what the ops compute


@irdl_op_definition
class ConvertLayoutOp(IRDLOperation):
    """The same elements in another layout: a load, a store, or a change on the chip.

    %k = tile.convert_layout %x : tensor<64x128xf32> to tensor<64x128xbf16, #tile.layout<...>>

    What is loaded may be converted on the way, as a transfer does it.
    """

    name = "tile.convert_layout"

    source = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    @staticmethod
    def make(source: SSAValue, type_: Attribute) -> "ConvertLayoutOp":
        """`source` as a tensor of that type."""
        return ConvertLayoutOp.create(operands=[source], result_types=[type_])

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, TensorType) and isinstance(result, TensorType)
        if source.shape != result.shape:
            raise VerifyException(f"{self.name}: a layout does not change the shape")
        if source.element_type != result.element_type and layout_of(source) is not None:
            raise VerifyException(f"{self.name}: only a load converts elements")
        for value in (self.source, self.result):
            layout, type_ = layout_of(value), value.type
            assert isinstance(type_, TensorType)
            if layout is not None and not layout.fits(type_.get_shape()):
                raise VerifyException(
                    f"{self.name}: the layout <{layout}> does not fit a tensor of {type_.shape}"
                )


@irdl_op_definition
class EmptyOp(IRDLOperation):
    """A tensor that loops put together of tiles, in "sbuf" or in "hbm".

    %t = tile.empty "hbm" : tensor<4096x256xf32>
    """

    name = "tile.empty"

    memory = prop_def(StringAttr)
    tensor = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$memory attr-dict `:` type($tensor)"

    @staticmethod
    def make(memory: str, type_: Attribute) -> "EmptyOp":
        """A tensor of that type in a memory."""
        return EmptyOp.create(properties={"memory": StringAttr(memory)}, result_types=[type_])

    def verify_(self) -> None:
        if self.memory.data not in ("hbm", "sbuf"):
            raise VerifyException(f"{self.name}: a memory is hbm or sbuf, not {self.memory.data}")


@irdl_op_definition
class IndexOp(IRDLOperation):
    """The value of an index, such as the number of a round, as a tensor of rank 0.

    %t = tile.index %i : tensor<i32>
    """

    name = "tile.index"

    index = operand_def(IndexType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$index attr-dict `:` type($result)"

    @staticmethod
    def make(index: SSAValue, element_type: Attribute) -> "IndexOp":
        """`index` as a number of that type."""
        return IndexOp.create(operands=[index], result_types=[TensorType(element_type, [])])

    def verify_(self) -> None:
        assert isinstance(self.result.type, TensorType)
        if self.result.type.get_shape() != ():
            raise VerifyException(f"{self.name}: the result is one number")


TILE = Dialect("tile", [ConvertLayoutOp, EmptyOp, IndexOp], [LayoutAttr])
