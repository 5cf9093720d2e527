"""Define the cost of an instruction."""

from dataclasses import dataclass

from neuronir.dialects.nc.enums import Port


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one instruction that runs alone; times are in ns, sizes in bytes.

    `issue_ns` is the time before the engine (for a transfer, the engine that triggers it) can start
    the next instruction. `latency_ns` is the time from the start until a dependent instruction can
    read the result; on engines it is at least `issue_ns`. `ports` are held for `port_ns` from the
    start. `work_ns` is the part of `issue_ns` in which elements are streamed (without fixed
    overheads).

    `flops` is 2 * MAC for matmuls, `transpose_flops` is the same for PE transposes, and `peak_ns`
    is the time of both at the peak rate of their type. `table` is the activation function set that
    must be loaded ("" for any).

    For a transfer, `bytes` is the amount that the DMA engines move (the wider side), and
    `hbm_read_bytes` and `hbm_write_bytes` are the traffic to HBM. It has `descriptors` that take
    `descriptor_ns` each and are spread over at most `parallel` DMA engines. A queue can use at most
    the fraction `share` of each DMA engine. The engine that triggers it needs `software_ns` to
    generate descriptors.
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
        """Return the DMA engine time of the transfer, summed over the engines."""
        return self.descriptors * self.descriptor_ns
