"""Emit nc ops: buffers, loops, and instructions with their source."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import IntEnum
from math import prod

from xdsl.dialects.builtin import LocationAttr, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.flops import FLOPS
from neuronir.dialects.nc.attributes import HBM, PSUM, SBUF
from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.data_types import dtype_of, element_type_of
from neuronir.dialects.nc.dialect import INSTRUCTION_OPS
from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine, Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp, View, build
from neuronir.dialects.nc.origin import origin
from neuronir.dialects.nc.records import shape_record, space_of
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp, VariableOp
from neuronir.dialects.support.location import METADATA
from neuronir.dialects.support.names import base_name, set_hint
from neuronir.passes.lowering.give_up import GivenUp, most_instructions


def elements_of_dims(free: Sequence[tuple[int, int]]) -> int:
    """Return how many elements (stride, size) dims cover."""
    return prod(size for _, size in free)


def dense_dims(sizes: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return (stride, size) dims of contiguous elements."""
    return tuple((prod(sizes[i + 1 :]), size) for i, size in enumerate(sizes))


def column_parts(view: View, limit: int) -> list[tuple[int, View]] | None:
    """Split the columns of a view into parts of `limit`, each with its first column.

    The last part may be smaller. Returns None if no stride pattern covers such a part.
    """
    if elements_of_dims(view.free) <= limit:
        return [(0, view)]
    (stride, size), *inner = view.free
    each = elements_of_dims(inner)
    if limit % each == 0:
        step = limit // each
        return [
            (
                i * each,
                replace(
                    view,
                    free=((stride, min(step, size - i)), *inner),
                    offset=view.offset + i * stride,
                ),
            )
            for i in range(0, size, step)
        ]
    if each % limit and size > 1:
        return None
    out: list[tuple[int, View]] = []
    for i in range(size):
        row = replace(view, free=tuple(inner), offset=view.offset + i * stride)
        parts = column_parts(row, limit)
        if parts is None:
            return None
        out += [(i * each + low, part) for low, part in parts]
    return out


class Emitter:
    """Appends nc ops to a list, each with the location of the HLO op being lowered.

    Work that ACT and DVE can both execute is emitted for one of them; nc-balance-evictions moves
    it.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.ops: list[Operation] = []
        self.scopes: list[list[Operation]] = [self.ops]
        self.head: list[Operation] = []
        self.variables: list[VariableOp] = []
        self.source: Operation | None = None
        self.unit: list[InstructionOp] | None = None  # placed for the unit being lowered
        self.origins: dict[SSAValue, Operation] = {}  # the op for which a buffer was allocated
        self.most = most_instructions()
        self._placed = 0
        self._locations: dict[Operation, LocationAttr] = {}  # of the instructions of each op
        self._names: dict[str, int] = {}
        self._registers: list[dict[tuple[SSAValue, int], SSAValue]] = [{}]  # of each scope
        self.register_loads = 0

    # registers

    def register(self, key: SSAValue, src: Callable[[], View], high: int) -> SSAValue:
        """Load an integer from `src()`, clamped to 0 ... high, into a register.

        A register that has been loaded with the same limit is used again; `key` is the integer in
        the program that is lowered.
        """
        for scope in self._registers:
            if (key, high) in scope:
                return scope[key, high]
        bounds = {"low": 0, "high": high}
        op = build(INSTRUCTION_OPS["register_load"], [], [src()], bounds, result=True)
        set_hint(op.results[0], base_name(key))
        self.place(op)
        self.register_loads += 1
        self._registers[-1][key, high] = op.results[0]
        return op.results[0]

    # buffers

    def sbuf(
        self, partitions: int, elements: int, dtype: DType, role: str | None = None
    ) -> SSAValue:
        """Allocate a buffer of [partitions, elements] in SBUF."""
        return self._alloc(
            MemRefType(element_type_of(dtype), [partitions, elements], memory_space=SBUF), role
        )

    def psum(self, partitions: int, elements: int, dtype: DType = DType.F32) -> SSAValue:
        """Allocate a buffer of [partitions, elements] in PSUM."""
        return self._alloc(
            MemRefType(element_type_of(dtype), [partitions, elements], memory_space=PSUM), None
        )

    def _alloc(self, type_: MemRefType[Attribute], role: str | None) -> SSAValue:
        op = AllocOp.make(type_, role)
        if self.source is not None:
            self.origins[op.buffer] = self.source
        self.place(op)
        return op.buffer

    def variable(
        self, name: str, kind: str, shape: Sequence[int], dtype: DType, **more: object
    ) -> SSAValue:
        """Create an HBM variable and its buffer; a name in use gets a number."""
        name = self.unique(name)
        type_ = MemRefType(element_type_of(dtype), list(shape), memory_space=HBM)
        op = VariableOp.make(name, kind, type_, **more)  # type: ignore[arg-type]
        self.variables.append(op)
        address = AddressOfOp.make(op)
        self.head.append(address)
        return address.buffer

    def unique(self, name: str) -> str:
        """Return a unique `name` for a variable or function; a name in use gets a number."""
        n = self._names.get(name, 0)
        self._names[name] = n + 1
        return f"{name}.{n}" if n else name

    # loops

    def enter(self) -> None:
        """Begin the body of a loop."""
        self.ops = []
        self.scopes.append(self.ops)
        self._registers.append({})

    def leave(self) -> list[Operation]:
        """End the body of the innermost loop; return its ops."""
        body = self.scopes.pop()
        self._registers.pop()
        self.ops = self.scopes[-1]
        return body

    @property
    def depth(self) -> int:
        """Return how many loops are open."""
        return len(self.scopes) - 1

    @contextmanager
    def outside(self, depth: int) -> Iterator[None]:
        """Append to the body of loop number `depth` (0: the function) while the context is
        active.
        """
        here = self.ops
        self.ops = self.scopes[min(depth, self.depth)]
        try:
            yield
        finally:
            self.ops = here

    # instructions

    def place(self, op: Operation) -> None:
        """Append `op` with the source of the op being lowered.

        Raises GivenUp if it is one of more ops than the caller of the compile allows.
        """
        self._placed += 1
        if self.most is not None and self._placed > self.most:
            raise GivenUp(self.most, self.scopes[0])
        if self.source is not None:
            op.location = self.source.location
            if isinstance(op, InstructionOp):
                op.location = self._origin(self.source)
                if self.unit is not None:
                    self.unit.append(op)
        self.ops.append(op)

    def _origin(self, op: Operation) -> LocationAttr:
        """Return the location of the instructions of an op."""
        known = self._locations.get(op)
        if known is None:
            flops, metadata = op.attributes.get(FLOPS), op.attributes.get(METADATA)
            known = self._locations[op] = origin(op.location, _opcode(op), flops, metadata)
        return known

    def emit(
        self,
        opcode: str,
        dst: Sequence[View | None],
        src: Sequence[View | None],
        params: Mapping[str, int | float | IntEnum] | None = None,
        engine: Engine | None = None,
    ) -> None:
        """Append an instruction."""
        self.place(build(INSTRUCTION_OPS[opcode], dst, src, params, engine=engine))

    def cheapest(self, *ways: Callable[[], None], awaited: bool = False) -> None:
        """Emit one of several equivalent instruction sequences.

        The cost of each is its own time on ACT, DVE and POOL, plus the time that it adds to the
        busiest of them, because other work waits for that engine. If everything that follows waits
        for the
        result, only its own time counts.
        """
        if len(ways) == 1:
            ways[0]()
            return
        found: list[tuple[float, list[Operation]]] = []
        for way in ways:
            self.ops, kept = [], self.ops
            try:
                way()
                load = self._load_ns(self.ops)
                own = sum(load.values())
                found.append((own if awaited else own + max(load.values()), self.ops))
            finally:
                self.ops = kept
        _, ops = min(found, key=lambda item: item[0])
        for _, others in found:
            if others is not ops:
                for op in others:
                    op.drop_all_references()
        self.ops.extend(ops)

    def _load_ns(self, ops: Sequence[Operation]) -> dict[Engine, float]:
        """Return the time in ns that instructions occupy ACT, DVE and POOL."""
        load = {Engine.ACT: 0.0, Engine.DVE: 0.0, Engine.POOL: 0.0}
        for op in ops:
            if isinstance(op, InstructionOp):
                done = shape_record(op)
                if done.engine in load:
                    load[done.engine] += cost(done, self.machine).issue_ns
        return load

    def matmul(self, dst: View, stationary: View, moving: View, accumulate: bool) -> None:
        """Emit dst (+)= stationary^T @ moving.

        The stationary operand may have as many columns as there are partitions. An array with fewer
        columns takes them in parts, whose results are on consecutive partitions.
        """
        params = {"accumulate": int(accumulate)}
        limit = self.machine.pe_columns
        columns = elements_of_dims(stationary.free)
        if columns > limit and column_parts(stationary, limit) is None:
            packed = self.sbuf(stationary.partitions, columns, view_dtype(stationary))
            whole = View(packed, 0, stationary.partitions, ((1, columns),))
            shaped = replace(whole, free=dense_dims([size for _, size in stationary.free]))
            self.copy(shaped, stationary, Engine.DVE)
            stationary = whole
        for low, part in column_parts(stationary, limit) or ():
            columns = elements_of_dims(part.free)
            out = replace(dst, start=dst.start + low, partitions=columns)
            self.emit("matmul", [out], [part, moving], params, Engine.PE)

    def activation(
        self,
        dst: View,
        src: View,
        func: Activation,
        scale: float | View = 1.0,
        bias: float | View = 0.0,
        total: View | None = None,
    ) -> None:
        """Emit dst = func(src * scale + bias); `total` [P,1] gets the sum over the free dims."""
        params: dict[str, int | float | IntEnum] = {"func": func}
        if not isinstance(scale, View):
            params["scale"] = scale
        if not isinstance(bias, View):
            params["bias"] = bias
        self.emit(
            "activation",
            [dst, total],
            [
                src,
                scale if isinstance(scale, View) else None,
                bias if isinstance(bias, View) else None,
            ],
            params,
            Engine.ACT,
        )

    def copy(self, dst: View, src: View, engine: Engine | None = None) -> None:
        """Emit dst = src with conversion, on ACT or DVE, or on POOL if neither is in PSUM."""
        if engine in (None, Engine.ACT):  # ACT computes in fp32
            floats = view_dtype(dst).is_float and view_dtype(src).is_float
            engine = Engine.ACT if floats and "ACT" in self.machine.engines else Engine.DVE
        if engine is Engine.ACT:
            self.activation(dst, src, Activation.COPY)
        else:
            self.emit("tensor_copy", [dst], [src], {}, engine)

    def tensor_tensor(
        self, op: AluOp, dst: View, lhs: View, rhs: View, engine: Engine | None = None
    ) -> None:
        """Emit dst = lhs op rhs; the machine does not allow two PSUM operands."""
        self.emit("tensor_tensor", [dst], [lhs, rhs], {"op": op}, engine or Engine.DVE)

    def tensor_scalar(
        self,
        dst: View,
        src: View,
        op0: AluOp,
        a: float | View,
        op1: AluOp = AluOp.BYPASS,
        b: float | View = 0.0,
        *,
        reverse0: bool = False,
        reverse1: bool = False,
        engine: Engine | None = None,
    ) -> None:
        """Emit dst = (src op0 a) op1 b."""
        params: dict[str, int | float | IntEnum] = {"op0": op0}
        if not isinstance(a, View):
            params["imm0"] = a
        if reverse0:
            params["reverse0"] = 1
        if op1 is not AluOp.BYPASS:
            params["op1"] = op1
            if not isinstance(b, View):
                params["imm1"] = b
            if reverse1:
                params["reverse1"] = 1
        self.emit(
            "tensor_scalar",
            [dst],
            [src, a if isinstance(a, View) else None, b if isinstance(b, View) else None],
            params,
            engine or Engine.DVE,
        )

    def memset(self, dst: View, value: float, engine: Engine | None = None) -> None:
        """Emit dst = value, in parts if it has more elements than an instruction takes."""
        if engine is None:
            engine = (
                Engine.POOL
                if self.machine.has_pool and space_of(dst.buffer) is Space.SBUF
                else Engine.DVE
            )
        in_psum = space_of(dst.buffer) is Space.PSUM
        limit = self.machine.max_free_psum if in_psum else self.machine.max_free_sbuf
        for part in _parts(dst, limit):
            self.emit("memset", [part], [], {"value": value}, engine)

    def dma(self, dst: View, src: View) -> None:
        """Emit a transfer; the ordered phase chooses its queue."""
        self.emit("dma", [dst], [src])


def _parts(view: View, limit: int) -> Iterator[View]:
    """Yield a view in parts of at most `limit` elements of a partition."""
    inner = prod(count for _, count in view.free[1:])
    if not view.free or view.free[0][1] * inner <= limit:
        yield view
        return
    (stride, count), *rest = view.free
    step = max(1, limit // inner)
    for first in range(0, count, step):
        size = min(step, count - first)
        free = ((stride, size), *rest) if size > 1 or not rest else tuple(rest)
        yield from _parts(replace(view, free=free, offset=view.offset + first * stride), limit)


def _opcode(op: Operation) -> str:
    """Return the opcode of an hlo op, or the kind of a composite."""
    return op.kind.data if isinstance(op, CompositeOp) else op.name.removeprefix("hlo.")


def view_dtype(view: View) -> DType:
    """Return the element type of an access."""

    if view.dtype:
        return DType[view.dtype.upper()]
    type_ = view.buffer.type
    assert isinstance(type_, MemRefType)
    return dtype_of(type_.element_type)
