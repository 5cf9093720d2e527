"""What a DMA transfer costs: descriptors, bytes and the time of the DMA engines."""

from neuronir.dialects.nc.cost_record import Cost
from neuronir.dialects.nc.enums import AluOp, Space
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.machine import Machine


def runs(ap: AccessPattern, largest: int) -> int:
    """Contiguous pieces, of at most `largest` bytes, of an access in its order.

    In SBUF and PSUM each partition is a piece at least; rows of HBM that follow each other are one.
    """
    size = ap.dtype.size
    dims = [(stride * size, count) for stride, count in ap.free if count > 1]
    outer = 1
    if ap.space == Space.HBM:
        if ap.partitions > 1:
            dims.insert(0, (ap.partition_stride, ap.partitions))
    else:
        outer = ap.partitions
    run = size
    while dims and dims[-1][0] == run:
        run *= dims.pop()[1]
    for _, count in dims:
        outer *= count
    return outer * -(-run // largest)


def dma_cost(i: Instruction, m: Machine) -> Cost:
    """The cost of `dma`, `dma_gather` and `dma_scatter`; `issue_ns` is that of the engine that
    starts it, which makes the descriptors first where they are made at run time.

    A descriptor is a contiguous piece of the finer side. A DMA engine takes
    max(dma_descriptor_ns, bytes / rate) for each; the pieces are spread over all DMA engines. The
    descriptors of one queue follow each other no sooner than dma_queue_descriptor_ns, in which
    time an engine serves other queues. Descriptors that lie in one burst of HBM count as one.
    """
    dst, src = i.dst[0], i.src[0]
    assert dst is not None and src is not None  # the opcode table says so
    largest = m.dma_max_descriptor_bytes
    pieces = max(runs(dst, largest), runs(src, largest))
    moved = [dst.bytes, src.bytes]
    software = 0
    if i.opcode == "dma_gather":
        pieces = max(runs(dst, largest), dst.partitions * runs(src, largest))
        moved[1] = src.elements * src.dtype.size * dst.partitions
        software = dst.partitions
    elif i.opcode == "dma_scatter":
        pieces = max(runs(src, largest), src.partitions * runs(dst, largest))
        moved[0] = dst.elements * dst.dtype.size * src.partitions
        software = src.partitions
    accumulates = i.params.get("accumulate", AluOp.BYPASS) != AluOp.BYPASS
    reads = moved[1] if src.space == Space.HBM else 0
    writes = moved[0] if dst.space == Space.HBM else 0
    width = max(moved)
    if accumulates:  # the destination is read as well
        reads += writes
        width *= 2
    # HBM serves all engines together, so a copy from HBM to HBM may be bound by it.
    share = m.hbm_gbps / m.dma_engines
    per_piece = max(width / m.dma_engine_gbps, (reads + writes) / share) / pieces
    together = _together(i, pieces, width // pieces, m)
    slower = m.hbm_conflict_factor if _conflicts(i, m.hbm_conflict_pitch_bytes) else 1.0
    per_piece = max(m.dma_descriptor_ns / together, per_piece) * slower
    in_queue = max(m.dma_queue_descriptor_ns / together, per_piece)
    serial = accumulates and i.opcode == "dma_scatter"
    parallel = 1 if serial else min(m.dma_engines, pieces)
    software_ns = software * m.dma_software_descriptor_ns
    return Cost(
        max(m.dma_trigger_ns, software_ns),
        software_ns + m.dma_fixed_ns + -(-pieces // parallel) * in_queue,
        bytes=width,
        hbm_read_bytes=reads,
        hbm_write_bytes=writes,
        descriptors=pieces,
        descriptor_ns=per_piece,
        parallel=parallel,
        share=per_piece / in_queue,
        software_ns=software_ns,
    )


def _conflicts(i: Instruction, pitch: int) -> bool:
    """Whether a side of a transfer has rows in HBM that are a multiple of `pitch` bytes apart."""
    if not pitch:
        return False
    for ap in (*i.dst, *i.src):
        if ap is not None and ap.space == Space.HBM:
            steps = [stride * ap.dtype.size for stride, count in ap.free if count > 1]
            if ap.partitions > 1:
                steps.append(ap.partition_stride)
            if any(step and step % pitch == 0 for step in steps):
                return True
    return False


def _together(i: Instruction, pieces: int, size: int, m: Machine) -> int:
    """How many descriptors of `size` bytes lie in one burst of HBM, 1 where they are far apart.

    They do where HBM's side is contiguous and only that of the partitions is not contiguous.
    """
    if i.opcode != "dma" or not 0 < size < m.dma_burst_bytes:
        return 1
    together = m.dma_burst_bytes // size
    for ap in (*i.dst, *i.src):
        if ap is not None and ap.space == Space.HBM:
            together = min(together, pieces // runs(ap, m.dma_max_descriptor_bytes))
    return max(1, together)
