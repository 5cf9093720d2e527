"""The record of a cost."""

from dataclasses import dataclass

from neuronir.dialects.nc.enums import Port


@dataclass(frozen=True, slots=True)
class Cost:
    """What one instruction costs when nothing else is in its way; times in ns, sizes in bytes.

    `issue_ns`: how long its engine (of a transfer, the one that starts it) is occupied before the
    next may start.
    `latency_ns`: from its start until a dependent instruction can see the result (never less than
    `issue_ns` for engines). `ports` are held for `port_ns` from the start. `work_ns` is the part of
    `issue_ns` in which elements stream (issue less fixed overheads). `flops` are 2 * MAC of
    matmuls, `transpose_flops` those of PE transposes, and `peak_ns` is the time of both at the peak
    rate of their type. `table` is the activation function set that must be loaded ("" for any).

    DMA: `bytes` that the engines move (the wider side), `hbm_read_bytes` and `hbm_write_bytes`,
    `descriptors` of `descriptor_ns` each over at most `parallel` DMA engines, of each of which its
    queue can use the part `share`; `software_ns` is the time in which POOL makes descriptors.
    """

    issue_ns: float
    latency_ns: float
    ports: frozenset[Port] = frozenset()
    port_ns: float = 0.0
    work_ns: float = 0.0
    flops: int = 0
    transpose_flops: int = 0
    peak_ns: float = 0.0
    bytes: int = 0
    table: str = ""
    hbm_read_bytes: int = 0
    hbm_write_bytes: int = 0
    descriptors: int = 0
    descriptor_ns: float = 0.0
    parallel: int = 1
    share: float = 1.0
    software_ns: float = 0.0

    @property
    def dma_load_ns(self) -> float:
        """DMA engine time of the transfer, summed over the engines (divide by their number)."""
        return self.descriptors * self.descriptor_ns
