"""toy1-lower: from hlo to instructions of toy1."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.data_movement import BroadcastOp
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.enums import AluOp, DType
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.structure import FuncOp as NcFuncOp
from neuronir.dialects.nc.structure import ReturnOp as NcReturnOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import file_line_col
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.emitter import Emitter

_ALU = {
    "hlo.add": AluOp.ADD,
    "hlo.subtract": AluOp.SUBTRACT,
    "hlo.multiply": AluOp.MULTIPLY,
    "hlo.maximum": AluOp.MAX,
    "hlo.minimum": AluOp.MIN,
}
_ROWS = 512  # fp32 values of a bank of PSUM, of which each row of a product takes one


@dataclass(frozen=True)
class Array:
    """An argument in HBM, or a vector of a value for each column: nothing is loaded yet."""

    buffer: SSAValue
    type: TensorType
    vector: bool = False


Tiles = list[View]
"""A value in SBUF, transposed: tiles of 64 columns on partitions, all rows in the free dimension.
So the result of a product is what the next product contracts over."""

Value = Array | Tiles | float


@dataclass(frozen=True)
class LowerPass(ModulePass):
    """Lower an hlo program of products of matrices and elementwise ops to instructions of toy1.

    Values have two dimensions and lie transposed in SBUF, columns on partitions. A product keeps
    its sums in PSUM while the rows of its right operand are loaded 64 at a time, so weights need
    not fit into the scratchpad; that operand must be an argument. Biases are vectors of a value
    for each column.
    """

    name = "toy1-lower"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = next(f for f in op.ops if isinstance(f, FuncOp) and f.sym_name.data == "main")
        lowering = _Lowering()
        lowering.run(main)
        main.detach()
        op.body.block.add_ops(lowering.finished())
        op.attributes["nc.machine"] = StringAttr("toy1")


def _refuse(op: Operation, why: str) -> NeuronError:
    return NeuronError("TOY_LOWER", f"{op.name}: {why}", location=file_line_col(op))


@dataclass
class _Lowering:
    emitter: Emitter = field(default_factory=lambda: Emitter(get_machine("toy1")))
    values: dict[SSAValue, Value] = field(default_factory=dict)

    def run(self, main: FuncOp) -> None:
        block = main.body.block
        for index, argument in enumerate(block.args):
            type_ = argument.type
            assert isinstance(type_, TensorType)
            dtype = dtype_of(type_.element_type)
            buffer = self.emitter.variable(
                f"arg{index}", "input", type_.get_shape(), dtype, index=index
            )
            self.values[argument] = Array(buffer, type_)
        for op in block.ops:
            self.emitter.source = op
            self.lower(op)

    def lower(self, op: Operation) -> None:
        if isinstance(op, ReturnOp):
            for index, operand in enumerate(op.operands):
                self.store(op, index, operand)
        elif op.name == "hlo.constant":
            value = op.properties["value"]
            if not isinstance(value, DenseIntOrFPElementsAttr) or not value.is_splat():
                raise _refuse(op, "a constant must have the same value everywhere")
            self.values[op.results[0]] = float(value.get_values()[0])
        elif isinstance(op, BroadcastOp):
            self.values[op.results[0]] = self.broadcast(op)
        elif op.name == "hlo.convert":
            source = self.values[op.operands[0]]
            self.values[op.results[0]] = (
                self.converted(op, source)
                if isinstance(source, list)
                else source  # converted when it is loaded
            )
        elif isinstance(op, DotOp):
            self.values[op.results[0]] = self.product(op)
        else:
            self.values[op.results[0]] = self.elementwise(op)

    def broadcast(self, op: BroadcastOp) -> Value:
        source, dims = self.values[op.operands[0]], tuple(ints(op, "dimensions"))
        if isinstance(source, float):
            return source
        if isinstance(source, Array) and dims == (1,):
            return Array(source.buffer, source.type, vector=True)
        raise _refuse(op, "only numbers, and vectors of a value for each column, are broadcast")

    def elementwise(self, op: Operation) -> Tiles:
        alu = _ALU[op.name]
        lhs, rhs = (self.values[v] for v in op.operands)
        reverse = not isinstance(lhs, list)
        if reverse:
            lhs, rhs = rhs, lhs
        if isinstance(lhs, Array) and not lhs.vector:
            lhs = self.loaded(op, lhs, DType.F32)
        if not isinstance(lhs, list):
            raise _refuse(op, "one operand must have two dimensions")
        if isinstance(rhs, Array):
            rhs = self.column(op, rhs) if rhs.vector else self.loaded(op, rhs, DType.F32)
        out: Tiles = []
        dtype = _result_dtype(op)
        for number, tile in enumerate(lhs):
            dst = self.tile(tile.partitions, tile.free[0][1], dtype)
            if isinstance(rhs, list) and rhs[number].free[0][1] > 1:
                pair = (rhs[number], tile) if reverse else (tile, rhs[number])
                self.emitter.tensor_tensor(alu, dst, *pair)
            else:
                other = rhs if isinstance(rhs, float) else rhs[number]
                self.emitter.tensor_scalar(dst, tile, alu, other, reverse0=reverse)
            out.append(dst)
        return out

    def product(self, op: DotOp) -> Tiles:
        """[M, K] times [K, N]: eight tiles of 64 columns are summed up at once, one a bank."""
        lhs, rhs = (self.values[v] for v in op.operands)
        contracted = ints(op, "lhs_contracting_dims"), ints(op, "rhs_contracting_dims")
        if [list(d) for d in contracted] != [[1], [0]] or not isinstance(rhs, Array):
            raise _refuse(op, "a product is x @ w, where w is an argument")
        if isinstance(lhs, Array):
            lhs = self.loaded(op, lhs, DType.BF16)
        assert isinstance(lhs, list)
        rows, (depth, columns) = lhs[0].free[0][1], rhs.type.get_shape()
        banks = self.emitter.machine.psum_banks
        out: Tiles = []
        for low in range(0, columns, 64 * banks):
            widths = [min(64, columns - n) for n in range(low, columns, 64)][:banks]
            sums = [_whole(self.emitter.psum(w, rows), w, rows) for w in widths]
            for k, moving in enumerate(lhs):
                panel = View(
                    rhs.buffer, 0, moving.partitions, ((1, sum(widths)),), 64 * k * columns + low
                )
                weights = self.fetch(panel, columns, rhs, DType.BF16)
                for n, dst in enumerate(sums):
                    stationary = View(
                        weights.buffer, 0, moving.partitions, ((1, widths[n]),), 64 * n
                    )
                    self.emitter.matmul(dst, stationary, moving, accumulate=k > 0)
            for width, total in zip(widths, sums, strict=True):
                dst = self.tile(width, rows, _result_dtype(op))
                self.emitter.emit("tensor_copy", [dst], [total])
                out.append(dst)
        assert depth == sum(tile.partitions for tile in lhs)
        return out

    # memory

    def tile(self, partitions: int, elements: int, dtype: DType) -> View:
        return _whole(self.emitter.sbuf(partitions, elements, dtype), partitions, elements)

    def fetch(self, source: View, pitch: int, array: Array, dtype: DType) -> View:
        """A tile from HBM, whose partitions are `pitch` elements apart there, as `dtype`."""
        stored = dtype_of(array.type.element_type)
        elements = source.free[0][1]
        tile = self.tile(source.partitions, elements, stored)
        placed = View(
            source.buffer, 0, source.partitions, source.free, source.offset, partition_stride=pitch
        )
        self.emitter.dma(tile, placed)
        if stored is dtype:
            return tile
        converted = self.tile(source.partitions, elements, dtype)
        self.emitter.emit("tensor_copy", [converted], [tile])
        return converted

    def loaded(self, op: Operation, array: Array, dtype: DType) -> Tiles:
        """An array of two dimensions, transposed on its way from HBM."""
        shape = array.type.get_shape()
        if len(shape) != 2 or shape[0] > _ROWS:
            raise _refuse(
                op, f"an operand is {array.type}; it has two dimensions, of at most {_ROWS} rows"
            )
        rows, columns = shape
        return [
            self.fetch(View(array.buffer, 0, n, ((columns, rows),), low), 1, array, dtype)
            for low, n in _tiles(columns)
        ]

    def column(self, op: Operation, array: Array) -> Tiles:
        """A vector: one value on each partition."""
        (columns,) = array.type.get_shape()
        return [
            self.fetch(View(array.buffer, 0, n, ((1, 1),), low), 1, array, DType.F32)
            for low, n in _tiles(columns)
        ]

    def converted(self, op: Operation, source: Tiles) -> Tiles:
        """A value in the type of the result of `op`."""
        dtype, out = _result_dtype(op), []
        for tile in source:
            out.append(self.tile(tile.partitions, tile.free[0][1], dtype))
            self.emitter.emit("tensor_copy", [out[-1]], [tile])
        return out

    def store(self, op: Operation, index: int, result: SSAValue) -> None:
        """Write a result to HBM, transposed back."""
        type_, value = result.type, self.values[result]
        assert isinstance(type_, TensorType)
        dtype = dtype_of(type_.element_type)
        if isinstance(value, Array):
            value = self.loaded(op, value, dtype)
        if not isinstance(value, list):
            raise _refuse(op, "a result must have two dimensions")
        rows, columns = type_.get_shape()
        buffer = self.emitter.variable(f"out{index}", "output", (rows, columns), dtype, index=index)
        for tile, (low, n) in zip(value, _tiles(columns), strict=True):
            placed = View(buffer, 0, n, ((columns, rows),), low, partition_stride=1)
            self.emitter.dma(placed, tile)

    def finished(self) -> Iterator[Operation]:
        """The variables and the function of the nc program."""
        yield from self.emitter.variables
        body = Block([*self.emitter.head, *self.emitter.ops, NcReturnOp.create()])
        yield NcFuncOp.create(properties={"sym_name": StringAttr("main")}, regions=[Region(body)])


def _result_dtype(op: Operation) -> DType:
    """The data type of the result of an op, to which engines round what they compute in fp32."""
    type_ = op.results[0].type
    assert isinstance(type_, TensorType)
    return dtype_of(type_.element_type)


def _whole(buffer: SSAValue, partitions: int, elements: int) -> View:
    return View(buffer, 0, partitions, ((1, elements),))


def _tiles(columns: int) -> list[tuple[int, int]]:
    """The first column and the number of columns of each tile."""
    return [(low, min(64, columns - low)) for low in range(0, columns, 64)]
