"""Define the tile ops: layout conversions, memories, loop indices, recurrences and blocks."""

from collections.abc import Sequence
from importlib import import_module

from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    f64,
    i32,
    i64,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait, Pure
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.hlo.kinds import (
    FLOAT,
    FLOAT_TENSOR,
    INTEGER_TENSOR,
    NUMBER,
    NUMBER_TENSOR,
    TENSOR,
)
from neuronir.dialects.support.ops import NeuronOp
from neuronir.dialects.tile import semantics
from neuronir.dialects.tile.layout import LayoutAttr, element_of, layout_of

_CANONICALIZATION = "neuronir.dialects.tile.canonicalization"

assert semantics  # importing it registers the semantics of the ops


class _Canonicalization(HasCanonicalizationPatternsTrait):
    """The canonicalisation patterns of a tile op."""

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        """Return the patterns of the op, whose module imports this one."""
        patterns: tuple[RewritePattern, ...] = import_module(_CANONICALIZATION).PATTERNS[op]
        return patterns

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """Return no patterns: they depend on the op."""
        return ()


@irdl_op_definition
class ConvertLayoutOp(NeuronOp, HasFolderInterface):
    """Convert a tensor to another layout: a load, a store, or a conversion on the chip.

        %y = tile.convert_layout %x
          : tensor<128x64xf32> to tensor<128x64xbf16, #tile.layout<sbuf, [128p1], [64f1]>>

    A tensor without a layout is in HBM. Only a load may also convert the element type.
    """

    name = "tile.convert_layout"

    source = operand_def(TENSOR)
    result = result_def(TENSOR)
    traits = traits_def(Pure(), _Canonicalization())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def fold(self) -> tuple[SSAValue] | None:
        """Fold a conversion to the same type, and one that undoes another."""
        if self.source.type == self.result.type:
            return (self.source,)
        before = self.source.owner
        if isinstance(before, ConvertLayoutOp) and before.source.type == self.result.type:
            # A conversion of the elements may round them.
            if element_of(before.source) == element_of(self.source):
                return (before.source,)
        return None

    @staticmethod
    def make(source: SSAValue, type_: Attribute) -> "ConvertLayoutOp":
        """Create a conversion of `source` to that type."""
        return ConvertLayoutOp.create(operands=[source], result_types=[type_])

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, TensorType) and isinstance(result, TensorType)
        if source.shape != result.shape:
            raise VerifyException("operand and result must have the same shape")
        if source.element_type != result.element_type and layout_of(source) is not None:
            raise VerifyException("only a load may convert elements")
        for value in (self.source, self.result):
            layout, type_ = layout_of(value), value.type
            assert isinstance(type_, TensorType)
            if layout is not None and not layout.fits(type_.get_shape()):
                raise VerifyException(
                    f"the layout <{layout}> does not fit a tensor of {list(type_.get_shape())}"
                )


@irdl_op_definition
class EmptyOp(NeuronOp):
    """Create a tensor without contents, in "sbuf" or "hbm", that loops fill tile by tile.

    %y = tile.empty "hbm" : tensor<4096x512xf32>
    """

    name = "tile.empty"

    memory = prop_def(StringAttr)
    tensor = result_def(TENSOR)
    traits = traits_def(Pure())
    assembly_format = "$memory attr-dict `:` type($tensor)"

    @staticmethod
    def make(memory: str, type_: Attribute) -> "EmptyOp":
        """Create a tensor of that type in a memory."""
        return EmptyOp.create(properties={"memory": StringAttr(memory)}, result_types=[type_])

    def verify_(self) -> None:
        if self.memory.data not in ("hbm", "sbuf"):
            raise VerifyException(f"a memory is hbm or sbuf, not {self.memory.data}")


@irdl_op_definition
class IndexOp(NeuronOp):
    """Convert an index, such as a loop variable, to a tensor of rank 0.

    %n = tile.index %i : tensor<i32>
    """

    name = "tile.index"

    index = operand_def(IndexType)
    result = result_def(NUMBER_TENSOR)
    traits = traits_def(Pure(), _Canonicalization())
    assembly_format = "$index attr-dict `:` type($result)"

    @staticmethod
    def make(index: SSAValue, element_type: Attribute) -> "IndexOp":
        """Create a tensor of that type from `index`."""
        return IndexOp.create(operands=[index], result_types=[TensorType(element_type, [])])

    def verify_(self) -> None:
        assert isinstance(self.result.type, TensorType)
        if self.result.type.get_shape() != ():
            raise VerifyException("the result must be a scalar")
        NUMBER.check(self.result.type.element_type)


@irdl_op_definition
class ToIndexOp(NeuronOp):
    """Convert an i32 scalar to an index: the trip count or the condition of a loop.

    A negative value becomes 0.

    %n = tile.to_index %count : tensor<i32>
    """

    name = "tile.to_index"

    source = operand_def(INTEGER_TENSOR)
    index = result_def(IndexType)
    traits = traits_def(Pure(), _Canonicalization())
    assembly_format = "$source attr-dict `:` type($source)"

    @staticmethod
    def make(source: SSAValue) -> "ToIndexOp":
        """Create the index with the value of `source`."""
        return ToIndexOp.create(operands=[source], result_types=[IndexType()])

    def verify_(self) -> None:
        type_ = self.source.type
        assert isinstance(type_, TensorType)
        if type_.get_shape() != () or type_.element_type != i32:
            raise VerifyException("the source must be a scalar of type i32")


SCANS = {"linear": 2, "add": 1, "multiply": 1, "maximum": 1, "minimum": 1}
"""Kinds of recurrences, and their arrays."""


@irdl_op_definition
class ScanOp(NeuronOp, HasFolderInterface):
    """Compute a recurrence along the last dimension of float arrays, each row by itself.

        %h = tile.scan "linear" %a, %b, %begin
          : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>) -> tensor<8x64xf32>

    "linear" takes two arrays and computes `h[t] = a[t] * h[t-1] + b[t]`. "add", "multiply",
    "maximum" and "minimum" take one array and compute `h[t] = h[t-1] op x[t]`. The optional last
    operand, which lacks the last dimension, is `h[-1]`. Without it, `h[0]` is element 0 of the last
    array. With `backwards`, the recurrence runs from the end of the dimension to its start.
    """

    name = "tile.scan"

    kind = prop_def(StringAttr)
    backwards = opt_prop_def(UnitAttr)
    inputs = var_operand_def(FLOAT_TENSOR)
    result = result_def(FLOAT_TENSOR)
    traits = traits_def(Pure())
    assembly_format = (
        "$kind $inputs (`backwards` $backwards^)? attr-dict `:` functional-type($inputs, $result)"
    )

    @staticmethod
    def make(
        kind: str, arrays: Sequence[SSAValue], begin: SSAValue | None, *, backwards: bool = False
    ) -> "ScanOp":
        """Create a recurrence of a kind over `arrays`, starting from `begin`."""
        properties: dict[str, Attribute] = {"kind": StringAttr(kind)}
        if backwards:
            properties["backwards"] = UnitAttr()
        operands = [*arrays] if begin is None else [*arrays, begin]
        return ScanOp.create(
            operands=operands, result_types=[arrays[-1].type], properties=properties
        )

    def fold(self) -> tuple[SSAValue] | None:
        """Fold a recurrence of one step that has no initial value."""
        last = self.arrays[-1]
        assert isinstance(last.type, TensorType)
        if self.begin is None and last.type.get_shape()[-1] == 1 and last.type == self.result.type:
            return (last,)
        return None

    @property
    def arrays(self) -> tuple[SSAValue, ...]:
        """Return the arrays that it runs over."""
        return tuple(self.inputs[: SCANS[self.kind.data]])

    @property
    def begin(self) -> SSAValue | None:
        """Return the initial value; None if it starts with the first element."""
        count = SCANS[self.kind.data]
        return self.inputs[count] if len(self.inputs) > count else None

    def verify_(self) -> None:
        count = SCANS.get(self.kind.data)
        if count is None:
            known = ", ".join(SCANS)
            raise VerifyException(f"kinds are {known}, not {self.kind.data}")
        if len(self.inputs) not in (count, count + 1):
            raise VerifyException(
                f"{self.kind.data} takes {count} arrays and an optional initial value"
            )
        result = self.result.type
        assert isinstance(result, TensorType)
        shape = result.get_shape()
        FLOAT.check(result.element_type)
        if not shape:
            raise VerifyException("there is no dimension to scan along")
        for i, value in enumerate(self.inputs):
            assert isinstance(value.type, TensorType)
            wanted = shape if i < count else shape[:-1]
            if (given := value.type.get_shape()) != wanted:
                raise VerifyException(
                    f"operand {i} must have the shape {list(wanted)}, has {list(given)}"
                )


@irdl_op_definition
class MaskOp(NeuronOp, HasFolderInterface):
    """Overwrite the padding at the end of a dimension with a value.

        %y = tile.mask %x dimension = 1 kept = 197 value = 0.0
          : tensor<12x198xf32> to tensor<12x198xf32>

    Elements at positions `kept` and above along `dimension` become `value`.
    """

    name = "tile.mask"

    source = operand_def(NUMBER_TENSOR)
    dimension = prop_def(IntegerAttr.constr(i64))
    kept = prop_def(IntegerAttr.constr(i64))
    value = prop_def(FloatAttr.constr(f64))
    result = result_def(NUMBER_TENSOR)
    traits = traits_def(Pure())
    assembly_format = (
        "$source `dimension` `=` $dimension `kept` `=` $kept `value` `=` $value attr-dict "
        "`:` type($source) `to` type($result)"
    )

    def fold(self) -> tuple[SSAValue] | None:
        """Fold a mask that keeps all elements."""
        type_ = self.source.type
        assert isinstance(type_, TensorType)
        whole = self.count == type_.get_shape()[self.along]
        return (self.source,) if whole and type_ == self.result.type else None

    @staticmethod
    def make(source: SSAValue, dimension: int, kept: int, value: float) -> "MaskOp":
        """Create a mask of the elements from position `kept` on along a dimension."""
        properties: dict[str, Attribute] = {
            "dimension": IntegerAttr(dimension, i64),
            "kept": IntegerAttr(kept, i64),
            "value": FloatAttr(value, f64),
        }
        return MaskOp.create(operands=[source], result_types=[source.type], properties=properties)

    @property
    def along(self) -> int:
        """Return the dimension."""
        return int(self.dimension.value.data)

    @property
    def count(self) -> int:
        """Return how many positions along the dimension keep their elements."""
        return int(self.kept.value.data)

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, TensorType) and isinstance(result, TensorType)
        if source.shape != result.shape or source.element_type != result.element_type:
            raise VerifyException("the result has the shape and the element type of the operand")
        NUMBER.check(source.element_type)
        shape = source.get_shape()
        if not 0 <= self.along < len(shape):
            raise VerifyException(f"there is no dimension {self.along}")
        if not 0 <= self.count <= shape[self.along]:
            raise VerifyException(f"dimension {self.along} has no position {self.count}")


@irdl_op_definition
class UnfoldOp(NeuronOp):
    """Read blocks along a dimension of an array in HBM, which may overlap.

        %b = tile.unfold %x dimension = 1 start = 0 step = 6
          : tensor<8x14xf32> to tensor<8x2x8xf32>

    Block k has the positions from `start + k * step` on. The result has the blocks as dimension
    `dimension`, and the positions in a block as the next one. Blocks lie on partitions, so that a
    long dimension is spread over them. With a negative `step`, the last block of the array is the
    first one. It needs no instruction: each load of the result reads the array.
    """

    name = "tile.unfold"

    source = operand_def(TENSOR)
    dimension = prop_def(IntegerAttr.constr(i64))
    start = prop_def(IntegerAttr.constr(i64))
    step = prop_def(IntegerAttr.constr(i64))
    result = result_def(TENSOR)
    traits = traits_def(Pure())
    assembly_format = (
        "$source `dimension` `=` $dimension `start` `=` $start `step` `=` $step attr-dict "
        "`:` type($source) `to` type($result)"
    )

    @staticmethod
    def make(
        source: SSAValue, dimension: int, start: int, step: int, blocks: int, size: int
    ) -> "UnfoldOp":
        """Create a view of `blocks` blocks of `size` positions along a dimension."""
        assert isinstance(source.type, TensorType)
        shape = list(source.type.get_shape())
        shape[dimension : dimension + 1] = [blocks, size]
        numbers = {"dimension": dimension, "start": start, "step": step}
        return UnfoldOp.create(
            operands=[source],
            result_types=[TensorType(source.type.element_type, shape)],
            properties={k: IntegerAttr(n, i64) for k, n in numbers.items()},
        )

    @property
    def along(self) -> int:
        """Return the dimension."""
        return int(self.dimension.value.data)

    @property
    def first(self) -> int:
        """Return the first position of block 0."""
        return int(self.start.value.data)

    @property
    def apart(self) -> int:
        """Return the positions from one block to the next one."""
        return int(self.step.value.data)

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, TensorType) and isinstance(result, TensorType)
        shape, blocks, d = source.get_shape(), result.get_shape(), self.along
        if not 0 <= d < len(shape):
            raise VerifyException(f"there is no dimension {d}")
        others = (*blocks[:d], *blocks[d + 2 :])
        if len(blocks) != len(shape) + 1 or others != (*shape[:d], *shape[d + 1 :]):
            raise VerifyException(f"dimension {d} becomes two, others stay the same")
        if source.element_type != result.element_type:
            raise VerifyException("the result has the element type of the operand")
        ends = (self.first, self.first + (blocks[d] - 1) * self.apart)
        if min(ends) < 0 or max(ends) + blocks[d + 1] > shape[d]:
            raise VerifyException(f"a block is not inside of dimension {d}")


TILE = Dialect(
    "tile", [ConvertLayoutOp, EmptyOp, IndexOp, MaskOp, ScanOp, ToIndexOp, UnfoldOp], [LayoutAttr]
)
