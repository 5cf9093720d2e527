"""Check the machine limits that one instruction can violate.

The compiler checks nc modules with these rules, and the simulator each instruction of a binary.
Each message names the limit and the offending value.
"""

from collections.abc import Iterator

from neuronir.dialects.nc.enums import Activation, DType, Engine, Space
from neuronir.dialects.nc.footprint import shape_of
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.opcodes import OPCODES

_SBUF_PSUM = frozenset({Space.SBUF, Space.PSUM})
_SBUF = frozenset({Space.SBUF})
_DMA = frozenset({Space.SBUF, Space.HBM})
_READS = {Engine.PE: _SBUF, Engine.ACT: _SBUF_PSUM, Engine.DVE: _SBUF_PSUM, Engine.POOL: _SBUF}
_WRITES = {
    Engine.PE: frozenset({Space.PSUM}),
    Engine.ACT: _SBUF_PSUM,
    Engine.DVE: _SBUF_PSUM,
    Engine.POOL: _SBUF,
}
_TWO_TENSORS = {
    "tensor_tensor": (0, 1),
    "scalar_tensor_tensor": (0, 2),
    "tensor_tensor_scan": (0, 1),
    "copy_predicated": (0, 1),
}
_FP32 = frozenset({DType.F32, DType.F32R, DType.TF32})


def violations(i: Instruction, m: Machine) -> Iterator[str]:
    """Return what is wrong with instruction `i` on machine `m`, one sentence for each limit."""
    spec = OPCODES.get(i.opcode)
    if spec is None:
        yield f"there is no instruction '{i.opcode}'"
        return
    if len(i.dst) != len(spec.dst) or len(i.src) != len(spec.src):
        yield f"has the operands {', '.join(spec.dst + spec.src)}"
        return
    if i.engine not in spec.engines:
        allowed = ", ".join(e.name.lower() for e in spec.engines[:6])
        yield f"{i.engine.name.lower()} cannot run {i.opcode}; {allowed} can"
    if i.opcode in ("barrier", "register_load"):
        return
    if _lacks(m, i.engine):
        yield f"{m.name} has no {i.engine.name.lower()} engine"
    if i.engine.is_dma and i.engine - Engine.DMA0 >= m.dma_queues:
        yield f"queue {i.engine.name.lower()} is beyond the {m.dma_queues} DMA queues of {m.name}"
    for role, ap, write in _operands(i):
        yield from _operand(i.engine, role, ap, write, m)
    if i.engine.is_dma:
        yield from _transfer(i, m)
    elif i.engine == Engine.PE:
        yield from _tensor_engine(i, m)
    else:
        yield from _vector(i, m)


def _lacks(m: Machine, engine: Engine) -> bool:
    """Return whether a compute engine is missing on `m`."""
    return engine < Engine.SP and engine.name not in m.engines


def _operands(i: Instruction) -> Iterator[tuple[str, AccessPattern, bool]]:
    spec = OPCODES[i.opcode]
    for roles, aps, write in ((spec.dst, i.dst, True), (spec.src, i.src, False)):
        for role, ap in zip(roles, aps, strict=True):
            if ap is not None:
                yield role.rstrip("?"), ap, write


def _operand(
    engine: Engine, role: str, ap: AccessPattern, write: bool, m: Machine
) -> Iterator[str]:
    spaces = _DMA if engine.is_dma else (_WRITES if write else _READS).get(engine, _DMA)
    if ap.space not in spaces:
        names = " and ".join(s.name for s in sorted(spaces))
        verb = "write" if write else "read"
        yield (
            f"operand '{role}': {engine.name.lower()} cannot {verb} {ap.space.name}, only {names}"
        )
    if ap.dtype.name not in m.dtypes and ap.dtype != DType.BOOL:
        yield f"operand '{role}': {m.name} has no data type {ap.dtype.name.lower()}"
    if ap.space == Space.HBM:
        return
    last = ap.start + ap.partitions - 1
    if last >= m.partitions:
        yield f"operand '{role}' ends at partition {last}; the last one is {m.partitions - 1}"
    if engine.is_dma:
        return
    starts = m.allowed_starts(ap.partitions)
    if starts and ap.start not in starts:
        allowed = ", ".join(map(str, starts))
        yield (
            f"operand '{role}' starts at partition {ap.start}; {ap.partitions} partitions may "
            f"start at {allowed}"
        )
    if len(ap.free) > m.max_free_dims:
        yield f"operand '{role}' has {len(ap.free)} free dims; the limit is {m.max_free_dims}"
    limit = m.max_free_psum if ap.space == Space.PSUM else m.max_free_sbuf
    if ap.elements > limit:
        yield (
            f"operand '{role}' has {ap.elements} elements per partition; the limit in "
            f"{ap.space.name} is {limit}"
        )


def _transfer(i: Instruction, m: Machine) -> Iterator[str]:
    triggers = OPCODES[i.opcode].triggers
    if i.trigger not in triggers:
        allowed = ", ".join(e.name.lower() for e in triggers)
        yield f"{i.trigger.name.lower()} cannot start {i.opcode}; {allowed} can"
    elif _lacks(m, i.trigger):
        yield f"{m.name} has no {i.trigger.name.lower()} engine to start a transfer"
    dst, src = i.dst[0], i.src[0]
    if dst is None or src is None:
        return
    if dst.dtype != src.dtype and not m.dma_casts:
        yield f"DMA of {m.name} cannot convert {src.dtype.name.lower()} to {dst.dtype.name.lower()}"
    if i.opcode != "dma" and not m.gather_in_dma:
        yield f"is not supported on {m.name}: addresses of transfers must be known when compiling"


def _tensor_engine(i: Instruction, m: Machine) -> Iterator[str]:
    if i.opcode == "transpose":
        source = i.src[0]
        if source is not None and source.elements > m.pe_rows:
            yield f"operand 'src' has {source.elements} columns; the limit is {m.pe_rows}"
        return
    stationary, moving, dst = i.src[0], i.src[1], i.dst[0]
    if stationary is None or moving is None or dst is None:
        return
    if stationary.elements > m.pe_columns:
        yield f"operand 'stationary' has {stationary.elements} columns; the limit is {m.pe_columns}"
    if moving.elements > m.matmul_max_moving:
        yield f"operand 'moving' has {moving.elements} columns; the limit is {m.matmul_max_moving}"
    if stationary.partitions != moving.partitions:
        yield (
            f"operand 'stationary' has {stationary.partitions} partitions and operand 'moving' "
            f"{moving.partitions}: they are contracted and must be equal"
        )
    for role, ap in (("stationary", stationary), ("moving", moving)):
        if ap.dtype.name not in m.matmul_dtypes:
            known = ", ".join(sorted(n.lower() for n in m.matmul_dtypes))
            yield f"operand '{role}' is {ap.dtype.name.lower()}; matmuls of {m.name} take {known}"
    if (stationary.dtype in _FP32) != (moving.dtype in _FP32):
        yield (
            f"operands are {stationary.dtype.name.lower()} and {moving.dtype.name.lower()}: "
            "f32 and tf32 can be multiplied only with each other"
        )
    if dst.dtype != DType.F32:
        yield f"operand 'dst' is {dst.dtype.name.lower()}; matmuls accumulate in f32"
    shape = shape_of(dst)
    if shape.high - shape.low > m.psum_bank_bytes:
        yield (
            f"operand 'dst' spans {shape.high - shape.low} bytes; a PSUM bank has "
            f"{m.psum_bank_bytes}"
        )
    elif not dst.address.terms and crosses_bank(dst, dst.address.const, m):
        first = (dst.address.const + shape.low) // m.psum_bank_bytes
        yield f"operand 'dst' is in PSUM banks {first} and {first + 1}: it must be in one"


def crosses_bank(ap: AccessPattern, address: int, m: Machine) -> bool:
    """Return whether a PSUM access at `address` (bytes in a partition) touches more than one
    bank.
    """
    shape = shape_of(ap)
    return (address + shape.low) // m.psum_bank_bytes != (
        address + shape.high - 1
    ) // m.psum_bank_bytes


def _vector(i: Instruction, m: Machine) -> Iterator[str]:
    both = _TWO_TENSORS.get(i.opcode)
    if both is not None:
        pair = [i.src[k] for k in both]
        if all(ap is not None and ap.space == Space.PSUM for ap in pair):
            yield "two operands are in PSUM; at most one may be"
    source = i.src[0] if i.src else None
    if i.opcode == "activation":
        name = Activation(int(i.params["func"])).name
        if name not in m.activations:
            yield f"{m.name} has no activation function {name.lower()}"
    if i.opcode == "bn_stats" and source is not None and source.elements > m.bn_stats_max:
        yield f"operand 'src' has {source.elements} elements; the limit is {m.bn_stats_max}"
    if i.opcode in ("max8", "find_index8") and source is not None:
        if not 8 <= source.elements <= 16384:
            yield f"operand 'src' has {source.elements} elements; the limits are 8 and 16384"
    if i.opcode == "transpose_dve" and source is not None and source.partitions > 32:
        yield f"operand 'src' has {source.partitions} partitions; the limit is 32"
