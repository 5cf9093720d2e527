"""Compute the cost of an instruction, for the compiler and the simulator alike.

The formulas are those of the public instruction documentation, and every constant comes from the
machine description. A cost depends on the shape of an instruction (opcode, patterns, types,
functions). It does not depend on addresses, waits or the position of the instruction. `dma_cost.py`
covers DMA transfers.
"""

from collections.abc import Callable

from neuronir.dialects.nc.cost_record import Cost
from neuronir.dialects.nc.dma_cost import by_register, dma_cost
from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine, Port, Space
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.machine import Machine

__all__ = ["Cost", "cost"]

_Key = tuple[object, ...]
_memo: dict[int, tuple[Machine, dict[_Key, Cost]]] = {}


def cost(instruction: Instruction, machine: Machine) -> Cost:
    """Return the cost of `instruction` on `machine`, without waits for other instructions."""
    entry = _memo.get(id(machine))
    if entry is None:
        entry = _memo[id(machine)] = (machine, {})
    known = entry[1]
    key = _key(instruction)
    found = known.get(key)
    if found is None:
        found = known[key] = _cost(instruction, machine)
    return found


def _key(i: Instruction) -> _Key:
    shapes = tuple(
        None
        if ap is None
        else (
            ap.space,
            ap.dtype,
            ap.partitions,
            ap.free,
            ap.partition_stride if ap.space == 2 else 0,
        )
        for ap in i.dst + i.src
    )
    p = i.params
    functions = (
        p.get("func"),
        p.get("op"),
        p.get("op0"),
        p.get("op1"),
        p.get("accumulate"),
        p.get("reuse"),
    )
    zero = i.opcode == "memset" and p.get("value") == 0
    engine = Engine.DMA0 if i.engine.is_dma else i.engine
    by_data = i.engine.is_dma and by_register(i)
    return (i.opcode, engine, shapes, functions, zero, by_data)


def _cost(i: Instruction, m: Machine) -> Cost:
    if i.engine.is_dma:
        return dma_cost(i, m)
    if i.opcode == "barrier":
        return Cost(0.0, 0.0)
    if i.opcode == "register_load":
        return Cost(m.register_load_ns, m.register_load_ns, bytes=_bytes(i))
    return _ENGINES[i.engine](i, m)


def _patterns(i: Instruction) -> list[AccessPattern]:
    return [ap for ap in i.dst + i.src if ap is not None]


def _bytes(i: Instruction) -> int:
    return sum(ap.bytes for ap in _patterns(i))


def _ports(i: Instruction, m: Machine) -> frozenset[Port]:
    spaces = {ap.space for ap in _patterns(i)}
    ports = set()
    if Space.PSUM in spaces and i.engine in (Engine.ACT, Engine.DVE):
        ports.add(Port.PSUM_VECTOR)
    if Space.SBUF in spaces and i.engine in (Engine.DVE, Engine.POOL):
        ports.add(Port.SBUF_VECTOR)
    return frozenset(port for port in ports if port.value in m.shared_ports)


def _pe(i: Instruction, m: Machine) -> Cost:
    """Return the cost of a matmul, which streams its moving columns; loading another stationary
    operand is not hidden.
    """
    moving = i.src[-1]
    assert moving is not None  # guaranteed by the opcode table
    k = moving.partitions
    if i.opcode == "transpose":
        columns, rows = moving.elements, k
        passes = m.fp32_transpose_passes if moving.dtype == DType.F32 else 1
        flops, transposed = 0, 2 * k * k * columns
    else:
        stationary = i.src[0]
        assert stationary is not None
        columns, rows = stationary.elements, moving.elements
        passes = matmul_passes(i, m)
        flops, transposed = 2 * k * columns * rows, 0
    work = max(min(m.matmul_min_cycles, columns), rows)
    overhead = m.matmul_overhead_cycles
    if not i.params.get("reuse"):
        overhead += -(-columns // m.stationary_load_divisor)
    issue = passes * (work + overhead) / m.pe_ghz
    return Cost(
        issue,
        issue + m.pe_latency_cycles / m.pe_ghz,
        flops=flops,
        transpose_flops=transposed,
        peak_ns=passes * (flops + transposed) / (2 * m.pe_rows * m.pe_columns * m.pe_ghz),
        work_ns=passes * work / m.pe_ghz,
        bytes=_bytes(i),
    )


def matmul_passes(i: Instruction, m: Machine) -> int:
    """Return how often PE streams the moving operand of a matmul: more than once for fp32."""
    single = any(ap is not None and ap.dtype == DType.F32 for ap in i.src)
    return m.fp32_passes if single else 1


def _act(i: Instruction, m: Machine) -> Cost:
    work = _elements(i) * stride_factor(i, m)
    cycles = max(m.act_min_cycles, work + m.act_overhead_cycles)
    if len(i.dst) > 1 and i.dst[1] is not None:
        cycles += m.act_accumulate_cycles
    name = Activation(int(i.params["func"])).name
    table = next((t for t, members in m.activation_tables.items() if name in members), "")
    return _vector(i, m, cycles, work, m.act_latency_cycles, m.act_ghz, table)


def _dve(i: Instruction, m: Machine) -> Cost:
    work = _elements(i) * _dve_cycles(i, m) * stride_factor(i, m)
    cycles = max(m.dve_min_cycles, work + m.dve_overhead_cycles)
    return _vector(i, m, cycles, work, m.dve_latency_cycles, m.dve_ghz)


def _pool(i: Instruction, m: Machine) -> Cost:
    n = _elements(i)
    starts = 1
    if i.opcode == "n_gather":
        table, indices = i.src[0], i.src[1]
        assert table is not None and indices is not None
        starts, work = _n_gather(m, table.elements, indices.elements)
    elif i.opcode == "partition_all_reduce":
        src = i.src[0]
        work = n * (src.partitions if src else 1) * m.pool_partition_reduce_cycles
    else:
        two = m.dve_two_input_cycles if i.opcode in _TWO_INPUTS else 1.0
        work = n * m.pool_cycles_per_element * two
    work *= stride_factor(i, m)
    cycles = work + starts * m.pool_overhead_cycles
    return _vector(i, m, cycles, work, m.pool_latency_cycles, m.pool_ghz)


def _n_gather(m: Machine, table: int, indices: int) -> tuple[int, float]:
    """Return the instructions of a gather and their cycles: each part of the table that fits in
    the buffer of POOL is loaded, and searched for all indices.
    """
    parts = -(-table // m.pool_gather_table)
    return 2 * parts, table * m.pool_cycles_per_element + parts * indices * m.pool_gather_cycles


def n_gather_ns(m: Machine, table: int, indices: int) -> float:
    """Return the time of a gather of `indices` elements from `table` elements in each partition."""
    starts, cycles = _n_gather(m, table, indices)
    return (cycles + starts * m.pool_overhead_cycles) / m.pool_ghz


def _vector(
    i: Instruction,
    m: Machine,
    cycles: float,
    work: float,
    latency_cycles: float,
    ghz: float,
    table: str = "",
) -> Cost:
    """Return the cost of a vector instruction; a dependent one can start when the elements have
    passed through the engine.
    """
    return Cost(
        cycles / ghz,
        max(cycles, latency_cycles) / ghz,
        _ports(i, m),
        port_ns=work / ghz,
        work_ns=work / ghz,
        bytes=_bytes(i),
        table=table,
    )


def _elements(i: Instruction) -> int:
    """Return the elements per partition that are streamed: those of the result or the first
    input.
    """
    n = 1
    for ap in (i.dst[0] if i.dst else None, i.src[0] if i.src else None):
        if ap is not None:
            n = max(n, ap.elements)
    return n


def stride_factor(i: Instruction, m: Machine) -> float:
    """Return how many times longer ACT, DVE and POOL take because of large strides between
    elements.
    """
    for ap in _patterns(i):
        inner = next((stride for stride, size in reversed(ap.free) if size > 1), 0)
        if abs(inner) * ap.dtype.size > m.strided_access_bytes:
            return m.strided_access_factor
    return 1.0


def _contiguous(ap: AccessPattern) -> bool:
    extent = 1
    for stride, size in reversed(ap.free):
        if size > 1 and stride != extent:
            return False
        extent *= size
    return True


_TWO_INPUTS = ("tensor_tensor", "scalar_tensor_tensor", "tensor_tensor_scan", "copy_predicated")
_FAST_TT = (AluOp.ADD, AluOp.SUBTRACT, AluOp.MULTIPLY)


def _dve_cycles(i: Instruction, m: Machine) -> float:
    """Return the cycles per element on the vector engine (docs/hardware.md section 3.2)."""
    present = _patterns(i)
    bf16 = all(ap.dtype == DType.BF16 for ap in present)
    if i.opcode in _TWO_INPUTS:
        sources = (i.src[0], i.src[2 if i.opcode == "scalar_tensor_tensor" else 1])
        one_psum = sum(ap is not None and ap.space == Space.PSUM for ap in sources) == 1
        if i.opcode in ("tensor_tensor", "copy_predicated") and one_psum:
            return 1.0
        if i.opcode == "tensor_tensor" and bf16 and i.params.get("op") in _FAST_TT:
            return 1.0 if all(map(_contiguous, present)) else m.dve_two_input_cycles
        if i.opcode == "scalar_tensor_tensor":
            inputs = all(ap is not None and ap.dtype == DType.BF16 for ap in sources)
            ops = (i.params.get("op0"), i.params.get("op1"))
            even = _elements(i) % 2 == 0
            if inputs and even and ops == (AluOp.SUBTRACT, AluOp.MULTIPLY):
                return 1.0
        return m.dve_two_input_cycles
    if i.opcode == "tensor_reduce":
        fast = bf16 and i.params.get("op") in (AluOp.ADD, AluOp.MAX)
        return m.dve_reduce_16bit_cycles if fast else 1.0
    if i.opcode == "memset":
        half = all(ap.dtype in (DType.BF16, DType.F16) for ap in present)
        return m.dve_memset_16bit_cycles if half and i.params.get("value") == 0 else 1.0
    if i.opcode == "reciprocal":
        return m.reciprocal_cycles_per_element
    if i.opcode == "bn_aggr":
        return m.bn_aggr_cycles / 3
    return 1.0


def _sync(i: Instruction, m: Machine) -> Cost:
    return Cost(0.0, 0.0, bytes=_bytes(i))


_ENGINES: dict[Engine, Callable[[Instruction, Machine], Cost]] = {
    Engine.PE: _pe,
    Engine.ACT: _act,
    Engine.DVE: _dve,
    Engine.POOL: _pool,
    Engine.SP: _sync,
}
