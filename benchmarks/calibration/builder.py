"""Text of nc programs in the ordered phase, written instruction by instruction.

The builder knows no dependences: what it is told to emit comes in that order, each engine and DMA
queue takes its own, and nc-synchronise finds who waits for whom. Loops stay loops; what rotates
over several buffers is written out in the body.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Index:
    """const + sum of coefficient * loop variable."""

    const: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: "Index | int") -> "Index":
        if isinstance(other, int):
            return Index(self.const + other, self.terms)
        return Index(self.const + other.const, self.terms + other.terms)

    def __mul__(self, factor: int) -> "Index":
        return Index(self.const * factor, tuple((v, c * factor) for v, c in self.terms))

    def __str__(self) -> str:
        return " + ".join([str(self.const), *(f"{c} * %{v}" for v, c in self.terms)])


@dataclass(frozen=True)
class View:
    """An operand: a buffer and the elements of it, `dims` as (size, stride), outermost first."""

    buffer: str
    rows: int
    dims: tuple[tuple[int, int], ...]
    offset: Index
    start: int = 0
    pitch: int = 0

    def __str__(self) -> str:
        pitch = f" * {self.pitch}" if self.pitch else ""
        dims = ", ".join(f"{size}:{stride}" for size, stride in self.dims)
        return f"%{self.buffer}[{self.start}:{self.rows}{pitch} | {dims} | {self.offset}]"


@dataclass(frozen=True)
class Tile:
    """A buffer in SBUF or PSUM: `columns` elements on each of `rows` partitions."""

    name: str
    columns: int
    rows: int

    def __call__(
        self,
        columns: int = 0,
        at: Index | int = 0,
        *,
        rows: int = 0,
        start: int = 0,
        dims: Sequence[tuple[int, int]] = (),
    ) -> View:
        """`columns` elements (all) from element `at` of `rows` partitions (all) from `start`."""
        offset = at if isinstance(at, Index) else Index(at)
        shape = tuple(dims) or ((columns or self.columns, 1),)
        return View(self.name, rows or self.rows - start, shape, offset, start)


@dataclass(frozen=True)
class Tensor:
    """An array in HBM, row by row."""

    name: str
    columns: int

    def __call__(
        self,
        row: Index | int,
        rows: int,
        column: Index | int,
        columns: int,
        *,
        pitch: int = 0,
    ) -> View:
        """A tile: `columns` elements of `rows` rows, `pitch` elements (a row) apart."""
        first = row if isinstance(row, Index) else Index(row)
        offset = first * self.columns + column
        return View(self.name, rows, ((columns, 1),), offset, 0, pitch or self.columns)


@dataclass
class Kernel:
    """A program in the making. Each array in HBM has its DMA queue, or two if also loaded.

    SP triggers what loads, unless told otherwise; `stores` is the engine that triggers what stores.
    """

    stores: str = "pool"
    queues: dict[str, int] = field(default_factory=dict)
    _head: list[str] = field(default_factory=list)
    _body: list[tuple[str, str]] = field(default_factory=list)  # line, engine
    _depth: int = 2
    _names: int = 0
    _inputs: int = 0
    _outputs: int = 0

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _say(self, line: str, engine: str = "") -> None:
        self._body.append(("  " * self._depth + line, engine))

    def _variable(self, kind: str, number: int, rows: int, columns: int, dtype: str) -> Tensor:
        name = f"{kind}{number}"
        shape = f'memref<{rows}x{columns}x{dtype}, #nc.space<"hbm">>'
        self._head.append(f'  nc.variable "{name}" : "{kind}" {shape} index {number}')
        self._say(f"%{name} = nc.address_of @{name} : {shape}")
        return Tensor(name, columns)

    def input(self, rows: int, columns: int, dtype: str = "f32") -> Tensor:
        """The next argument."""
        self._inputs += 1
        return self._variable("input", self._inputs - 1, rows, columns, dtype)

    def output(self, rows: int, columns: int, dtype: str = "f32") -> Tensor:
        """The next result."""
        self._outputs += 1
        return self._variable("output", self._outputs - 1, rows, columns, dtype)

    def sbuf(self, columns: int, dtype: str = "f32", rows: int = 128) -> Tile:
        """A buffer in SBUF."""
        return self._tile("sbuf", columns, dtype, rows)

    def psum(self, columns: int, rows: int = 128) -> Tile:
        """A buffer in PSUM, in fp32."""
        return self._tile("psum", columns, "f32", rows)

    def _tile(self, space: str, columns: int, dtype: str, rows: int) -> Tile:
        name = self._name(space[0])
        shape = f'memref<{rows}x{columns}x{dtype}, #nc.space<"{space}">>'
        self._say(f"%{name} = nc.alloc : {shape}")
        return Tile(name, columns, rows)

    @contextmanager
    def loop(self, trips: int) -> Iterator[Index]:
        """A loop; the value is its round number."""
        count, variable = self._name("n"), self._name("i")
        self._say(f"%{count} = arith.constant {trips} : index")
        self._say(f"scf.for %{variable} = %zero to %{count} step %one {{")
        self._depth += 1
        yield Index(0, ((variable, 1),))
        self._depth -= 1
        self._say("}")

    def rounds(self, trips: int, unroll: int) -> Iterator[tuple[Index, int]]:
        """(round, slot) of `trips` rounds over `unroll` slots: a loop, then what is left over."""
        if trips // unroll > 1:
            with self.loop(trips // unroll) as i:
                for slot in range(unroll):
                    yield i * unroll + slot, slot
        for done in range(trips // unroll * unroll if trips // unroll > 1 else 0, trips):
            yield Index(done), done % unroll

    def emit(
        self,
        opcode: str,
        engine: str,
        dst: Sequence[View | None],
        src: Sequence[View | None] = (),
        **parameters: str | int | float,
    ) -> None:
        """Any instruction."""

        def text(views: Sequence[View | None]) -> str:
            return ", ".join("none" if view is None else str(view) for view in views)

        values = ", ".join(f"{name} = {_literal(value)}" for name, value in parameters.items())
        given = f" {{{values}}}" if values else ""
        self._say(f"nc.{opcode} ({text(dst)}) = ({text(src)}){given}", engine)

    def load(self, dst: View, src: View, stream: str = "", by: str = "sp") -> None:
        """HBM to SBUF, triggered `by` an engine; each `stream` of an array has a queue."""
        self.emit("dma", self._queue(f"from {src.buffer}{stream}", by), [dst], [src])

    def store(self, dst: View, src: View) -> None:
        """SBUF to HBM."""
        self.emit("dma", self._queue(f"to {dst.buffer}", self.stores), [dst], [src])

    def _queue(self, stream: str, trigger: str) -> str:
        queue = f"dma{self.queues.setdefault(stream, len(self.queues) % 16)}"
        return queue if trigger == "sp" else f"{queue} by {trigger}"

    def matmul(self, dst: View, stationary: View, moving: View, *, first: bool = True) -> None:
        """dst = (or, not `first`, +=) stationary^T @ moving."""
        self.emit("matmul", "pe", [dst], [stationary, moving], accumulate=int(not first))

    def transpose(self, dst: View, src: View) -> None:
        """dst = src^T on the tensor engine."""
        self.emit("transpose", "pe", [dst], [src])

    def act(
        self,
        dst: View,
        src: View,
        func: str = "copy",
        *,
        scale: View | float = 1.0,
        bias: View | None = None,
    ) -> None:
        """dst = func(src * scale + bias) on ACT."""
        operand = scale if isinstance(scale, View) else None
        value = 1.0 if isinstance(scale, View) else scale
        self.emit("activation", "act", [dst, None], [src, operand, bias], func=func, scale=value)

    def tensor_tensor(self, dst: View, a: View, b: View, op: str = "add") -> None:
        """dst = a op b on DVE."""
        self.emit("tensor_tensor", "dve", [dst], [a, b], op=op)

    def tensor_scalar(self, dst: View, src: View, op: str, value: float) -> None:
        """dst = src op value on DVE."""
        self.emit("tensor_scalar", "dve", [dst], [src, None, None], op0=op, imm0=value)

    def scale_rows(self, dst: View, src: View, factor: View) -> None:
        """dst = src times one factor for each partition, on DVE."""
        self.emit("tensor_scalar", "dve", [dst], [src, factor, None], op0="multiply", imm0=0.0)

    def reduce(self, dst: View, src: View, op: str = "add") -> None:
        """dst = src reduced over its last dimension, on DVE."""
        self.emit("tensor_reduce", "dve", [dst], [src], op=op, axes=1)

    def copy(self, dst: View, src: View) -> None:
        """dst = src on DVE."""
        self.emit("tensor_copy", "dve", [dst], [src])

    def reciprocal(self, dst: View, src: View) -> None:
        """dst = 1 / src on DVE."""
        self.emit("reciprocal", "dve", [dst], [src])

    def memset(self, dst: View, engine: str = "dve") -> None:
        """dst = 0."""
        self.emit("memset", engine, [dst], value=0.0)

    def text(self, phase: str = "ordered") -> str:
        """The module; in the virtual phase without the engines and queues that a pass chooses."""
        chosen = phase == "ordered"
        body = [f"{line} on {e}" if e and chosen else line for line, e in self._body]
        return "\n".join(
            [
                f'builtin.module attributes {{nc.machine = "trn1", neuronir.phase = "{phase}"}} {{',
                *self._head,
                '  nc.func "main" {',
                "    %zero = arith.constant 0 : index",
                "    %one = arith.constant 1 : index",
                *body,
                "    nc.return",
                "  }",
                "}",
                "",
            ]
        )


def _literal(value: str | int | float) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:e} : f64" if isinstance(value, float) else str(value)
