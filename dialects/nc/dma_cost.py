"""Compute the cost of a DMA transfer: descriptors, bytes and the time of the DMA engines."""

from neuronir.dialects.nc.cost_record import Cost
from neuronir.dialects.nc.enums import AluOp, Space
from neuronir.dialects.nc.instruction import REGISTER, AccessPattern, Instruction
from neuronir.dialects.nc.machine import Machine


def runs(ap: AccessPattern, largest: int) -> int:
    """Split an access, in order, into contiguous pieces of at most `largest` bytes.

    In SBUF and PSUM each partition is at least one piece. Adjacent rows of HBM form one piece.
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
    """Return the cost of `dma`, `dma_gather` or `dma_scatter`.

    `issue_ns` is the cost on the engine that triggers the transfer. If descriptors are generated at
    run time, that engine generates them first: those of gathers and scatters, and those with an
    address from a register.

    A descriptor is a contiguous piece of the finer side. A DMA engine takes max(dma_descriptor_ns,
    bytes / rate) for each descriptor, and the descriptors are spread over all DMA engines.
    Descriptors of one queue start at least dma_queue_descriptor_ns apart; in between, a DMA engine
    serves other queues. Descriptors that fall into one burst of HBM count as one.
    """
    dst, src = i.dst[0], i.src[0]
    assert dst is not None and src is not None  # guaranteed by the opcode table
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
    elif by_register(i):
        software = pieces
    accumulates = i.params.get("accumulate", AluOp.BYPASS) != AluOp.BYPASS
    reads = moved[1] if src.space == Space.HBM else 0
    writes = moved[0] if dst.space == Space.HBM else 0
    width = max(moved)
    if accumulates:  # accumulation also reads the destination
        reads += writes
        width *= 2
    # All engines share HBM, so HBM can bound a copy from HBM to HBM.
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


def by_register(i: Instruction) -> bool:
    """Return whether an address of a transfer is known only at run time, from a register."""
    return any(
        symbol >= REGISTER
        for ap in (*i.dst, *i.src)
        if ap is not None
        for symbol, _ in ap.address.terms
    )


def _conflicts(i: Instruction, pitch: int) -> bool:
    """Return whether a side of a transfer has rows in HBM that are a multiple of `pitch` bytes
    apart.
    """
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
    """Return how many descriptors of `size` bytes fall into one burst of HBM; 1 if they are far
    apart.

    Descriptors share a burst if only the partition side of the transfer is not contiguous.
    """
    if i.opcode != "dma" or not 0 < size < m.dma_burst_bytes:
        return 1
    together = m.dma_burst_bytes // size
    for ap in (*i.dst, *i.src):
        if ap is not None and ap.space == Space.HBM:
            together = min(together, pieces // runs(ap, m.dma_max_descriptor_bytes))
    return max(1, together)
