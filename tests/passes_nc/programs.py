"""Small nc programs, built for the tests of the nc passes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float32Type,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NameLoc,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from neuronir.dialects.nc.attributes import HBM, PSUM, SBUF
from neuronir.dialects.nc.dialect import INSTRUCTION_OPS
from neuronir.dialects.nc.enums import Activation, AluOp
from neuronir.dialects.nc.ops import View, build
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp, FuncOp, ReturnOp, VariableOp

F32, BF16 = Float32Type(), BFloat16Type()


@dataclass
class Program:
    """A virtual program under construction; every op goes to the end of `main`."""

    variables: list[VariableOp] = field(default_factory=list)
    func: FuncOp = field(default_factory=lambda: FuncOp.make("main"))

    def __post_init__(self) -> None:
        self.block: Block = self.func.body.block
        self.outer: list[Block] = []

    def variable(
        self, name: str, kind: str, shape: Sequence[int], type: Attribute = F32, index: int = 0
    ) -> SSAValue:
        """A variable in HBM and its buffer."""
        position = index if kind in ("input", "output") else None
        op = VariableOp.make(name, kind, MemRefType(type, shape, memory_space=HBM), index=position)
        self.variables.append(op)
        address = AddressOfOp.make(op)
        self.func.body.block.add_op(address)
        return address.buffer

    def sbuf(
        self, shape: Sequence[int], type: Attribute = F32, role: str | None = None
    ) -> SSAValue:
        """A buffer in SBUF."""
        op = AllocOp.make(MemRefType(type, shape, memory_space=SBUF), role)
        self.block.add_op(op)
        return op.buffer

    def psum(self, shape: Sequence[int], type: Attribute = F32) -> SSAValue:
        """A buffer in PSUM."""
        op = AllocOp.make(MemRefType(type, shape, memory_space=PSUM))
        self.block.add_op(op)
        return op.buffer

    def emit(
        self,
        opcode: str,
        dst: Sequence[View | None],
        src: Sequence[View | None],
        **params: int | float,
    ) -> None:
        """An instruction."""
        location = NameLoc(StringAttr(f"{opcode}.x"), UnknownLoc())
        op = build(INSTRUCTION_OPS[opcode], dst, src, params, location=location)
        self.block.add_op(op)

    def copy(self, dst: View, src: View) -> None:
        """A DMA transfer."""
        self.emit("dma", [dst], [src])

    def matmul(self, dst: View, stationary: View, moving: View, accumulate: bool = False) -> None:
        """A matmul."""
        self.emit("matmul", [dst], [stationary, moving], accumulate=int(accumulate))

    def activate(self, dst: View, src: View, func: Activation = Activation.COPY) -> None:
        """An activation without scale or bias."""
        self.emit("activation", [dst, None], [src, None, None], func=func)

    def add(self, dst: View, lhs: View, rhs: View) -> None:
        """An elementwise sum."""
        self.emit("tensor_tensor", [dst], [lhs, rhs], op=AluOp.ADD)

    def loop(self, trips: int) -> SSAValue:
        """Open a loop, into which ops go from then on; its round number."""
        bounds = [arith.ConstantOp(IntegerAttr(n, IndexType())) for n in (0, trips, 1)]
        self.block.add_ops(bounds)
        body = Block(arg_types=[IndexType()])
        low, high, step = (b.result for b in bounds)
        self.block.add_op(scf.ForOp(low, high, step, [], Region(body)))
        self.outer.append(self.block)
        self.block = body
        return body.args[0]

    def end(self) -> None:
        """Close the innermost loop."""
        self.block.add_op(scf.YieldOp())
        self.block = self.outer.pop()

    def finish(self) -> ModuleOp:
        """The module."""
        self.func.body.block.add_op(ReturnOp.create())
        module = ModuleOp([*self.variables, self.func])
        module.attributes["nc.machine"] = StringAttr("trn1")
        module.attributes["neuronir.phase"] = StringAttr("virtual")
        module.verify()
        return module


def tile(buffer: SSAValue, columns: int, partitions: int = 128, offset: int = 0) -> View:
    """`columns` elements in each of `partitions` partitions of an SBUF or PSUM buffer."""
    return View(buffer, 0, partitions, ((1, columns),), offset)


def rows(
    buffer: SSAValue, columns: int, pitch: int, partitions: int = 128, offset: int = 0
) -> View:
    """`partitions` rows of `columns` elements of an HBM buffer with rows of `pitch` elements."""
    return View(buffer, 0, partitions, ((1, columns),), offset, (), pitch)


def mlp(layers: int, tiles: int, columns: int = 512) -> ModuleOp:
    """x [128*tiles, columns] through `layers` of x = gelu(W^T x) + x; weights are streamed."""
    p = Program()
    width = 128 * tiles
    x = p.variable("x", "input", (width, columns), BF16)
    y = p.variable("y", "output", (width, columns), BF16)
    current = []
    for t in range(tiles):
        buffer = p.sbuf((128, columns), BF16)
        p.copy(tile(buffer, columns), rows(x, columns, columns, offset=t * 128 * columns))
        current.append(buffer)
    for layer in range(layers):
        w = p.variable(f"w{layer}", "constant", (width, width), BF16)
        strips = []
        for k in range(tiles):
            strip = p.sbuf((128, width), BF16, "stream")
            p.copy(tile(strip, width), rows(w, width, width, offset=k * 128 * width))
            strips.append(strip)
        new = []
        for m in range(tiles):
            out = p.psum((128, columns))
            for k in range(tiles):
                p.matmul(
                    tile(out, columns),
                    tile(strips[k], 128, offset=m * 128),
                    tile(current[k], columns),
                    accumulate=k > 0,
                )
            active = p.sbuf((128, columns), BF16)
            p.activate(tile(active, columns), tile(out, columns), Activation.GELU)
            total = p.sbuf((128, columns), BF16)
            p.add(tile(total, columns), tile(active, columns), tile(current[m], columns))
            new.append(total)
        current = new
    for t in range(tiles):
        p.copy(rows(y, columns, columns, offset=t * 128 * columns), tile(current[t], columns))
    return p.finish()


def looped(trips: int, *, outer: int = 0, accumulate: bool = True) -> ModuleOp:
    """Rounds of load, matmul, gelu, add to a total (carried) and store; inside `outer` rounds."""
    p = Program()
    x = p.variable("x", "input", (trips * 32, 64), BF16)
    w = p.variable("w", "constant", (32, 32), BF16)
    y = p.variable("y", "output", (trips * 32, 64), BF16)
    z = p.variable("z", "output", (32, 64), index=1)
    weights = p.sbuf((32, 32), BF16, "constant")
    p.copy(tile(weights, 32, 32), rows(w, 32, 32, 32))
    total = p.sbuf((32, 64))
    p.emit("memset", [tile(total, 64, 32)], [], value=0.0)
    if outer:
        p.loop(outer)
    i = p.loop(trips)
    tile_in = p.sbuf((32, 64), BF16)
    p.copy(tile(tile_in, 64, 32), View(x, 0, 32, ((1, 64),), 0, ((i, 32 * 64),), 64))
    product = p.psum((32, 64))
    p.matmul(tile(product, 64, 32), tile(weights, 32, 32), tile(tile_in, 64, 32))
    active = p.sbuf((32, 64), BF16)
    p.activate(tile(active, 64, 32), tile(product, 64, 32), Activation.GELU)
    if accumulate:
        p.add(tile(total, 64, 32), tile(active, 64, 32), tile(total, 64, 32))
    p.copy(View(y, 0, 32, ((1, 64),), 0, ((i, 32 * 64),), 64), tile(active, 64, 32))
    p.end()
    if outer:
        p.end()
    p.copy(rows(z, 64, 64, 32), tile(total, 64, 32))
    return p.finish()
