"""Describe a NeuronCore with frozen data that passes, costs and the simulator read.

Each value carries its provenance: `public` with the source, `inferred` with the arithmetic,
`assumed` with the reason, or `fitted` with the data it was fitted to.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from importlib.metadata import entry_points

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.identity import by_identity

_COMPUTE = frozenset({"PE", "ACT", "DVE", "POOL"})


PARTITIONS = 128
"""Partitions of SBUF and PSUM on every NeuronCore (docs/hardware.md), for passes that know no
machine. Others read `Machine.partitions`.
"""


@dataclass(frozen=True)
class Machine:
    """One NeuronCore; field names end in the unit: bytes, GHz, cycles of the engine, ns, GB/s."""

    name: str
    generation: int
    # memories
    partitions: int
    sbuf_partition_bytes: int
    sbuf_usable_partition_bytes: int
    psum_partition_bytes: int
    psum_bank_bytes: int
    hbm_bytes: int
    # largest partition count -> allowed start partitions
    partition_starts: Mapping[int, tuple[int, ...]]
    # clocks
    pe_ghz: float
    act_ghz: float
    dve_ghz: float
    pool_ghz: float
    # tensor engine
    pe_rows: int
    pe_columns: int
    matmul_max_moving: int  # free elements of the moving operand
    matmul_min_cycles: int
    # of every matmul, in addition to the load of its stationary operand
    matmul_overhead_cycles: int
    stationary_load_divisor: int  # columns of the stationary operand loaded per PE cycle
    fp32_passes: int
    fp32_transpose_passes: int
    pe_latency_cycles: int  # start to first visible result
    # vector, scalar and gpsimd engines
    act_min_cycles: int
    act_overhead_cycles: int
    act_latency_cycles: int
    act_table_load_ns: float
    act_accumulate_cycles: int  # reading the accumulation registers, for an activation with `sum`
    # set -> functions; other functions are in every set
    activation_tables: Mapping[str, frozenset[str]]
    dve_min_cycles: int
    dve_overhead_cycles: int
    dve_latency_cycles: int
    dve_two_input_cycles: float  # per element, for two tensors that are both in SBUF
    dve_reduce_16bit_cycles: float  # per element, for a bf16 to bf16 reduction by add or max
    dve_memset_16bit_cycles: float  # per element, for zeros of a 16-bit float
    bn_aggr_cycles: float  # per (count, mean, var * count) triple
    reciprocal_cycles_per_element: float
    strided_access_bytes: int  # innermost strides beyond this slow the access
    strided_access_factor: float
    pool_overhead_cycles: int
    pool_latency_cycles: int
    pool_cycles_per_element: float
    pool_gather_cycles: float  # per index of a gather, and part of its table
    pool_gather_table: int  # elements per partition of a part of the table
    pool_partition_reduce_cycles: float  # per reduced element and partition
    max_free_dims: int
    max_free_sbuf: int
    max_free_psum: int
    bn_stats_max: int
    # DMA
    dma_engines: int
    dma_queues: int
    dma_engine_gbps: float  # sustained, one engine
    dma_fixed_ns: float  # trigger to first byte, and completion
    dma_completion_ns: float  # the part of dma_fixed_ns after the last byte
    dma_trigger_ns: float  # on the engine that triggers a transfer
    # transfers up to this size start no faster, whichever engine triggers them
    dma_small_bytes: int
    dma_descriptor_ns: float  # on one engine, between descriptors of any size
    dma_queue_descriptor_ns: float  # the same for one queue alone on the engine
    dma_burst_bytes: int  # descriptors in one such piece of HBM take the time of one
    dma_descriptor_bytes: int  # bytes of a descriptor itself
    dma_max_descriptor_bytes: int
    dma_software_descriptor_ns: float  # for descriptors that are generated at run time
    dma_max_dims: int
    hbm_gbps: float  # the share of one core of the chip
    hbm_conflict_pitch_bytes: int  # HBM rows a multiple of this apart fall into one bank
    hbm_conflict_factor: float  # slowdown of descriptors of such rows
    cores_per_chip: int
    dma_contention: float  # slowdown of descriptors while all cores of a chip are active
    chips: int  # of the largest instance, in a row
    link_gbps: float  # from one chip to the next, one way
    link_latency_ns: float  # of a transfer over a link, whatever its size
    core_handover_ns: float  # from one core of a chip to another, in the memory that they share
    # synchronisation
    semaphores: int
    semaphore_latency_ns: float
    registers: int
    register_load_ns: float
    branch_ns: float  # entry and end of an iteration of a loop that depends on data
    instruction_fetch_ns: float  # minimum time between two instructions of a stream
    shared_ports: frozenset[str]  # values of enums.Port
    program_overhead_ns: float  # start-up and tear-down of one run, outside the instructions
    has_control_flow: bool
    dtypes: frozenset[str]  # DType names that engines accept
    matmul_dtypes: frozenset[str]
    activations: frozenset[str]
    gather_in_dma: bool
    dma_casts: bool
    engines: frozenset[str]  # Engine names of the compute engines: of PE, ACT, DVE, POOL
    peak_flops_bf16: float
    peak_flops_fp32: float
    provenance: Mapping[str, str]

    def check(self) -> None:
        """Raise ValueError if a value has no provenance or the values are inconsistent."""
        known = {"name", "generation", "provenance"}
        missing = [f.name for f in fields(self) if f.name not in known | set(self.provenance)]
        if missing:
            raise ValueError(f"{self.name}: no provenance for {', '.join(missing)}")
        for key, text in self.provenance.items():
            if text.split(":")[0] not in ("public", "inferred", "assumed", "fitted"):
                raise ValueError(f"{self.name}.{key}: provenance must begin with its class")
        if unknown := self.engines - _COMPUTE:
            raise ValueError(f"{self.name}: there is no engine {', '.join(sorted(unknown))}")
        if self.psum_partition_bytes % self.psum_bank_bytes:
            raise ValueError(f"{self.name}: PSUM is not a whole number of banks")

    @property
    def has_pool(self) -> bool:
        """Whether the machine has a GpSimd engine."""
        return "POOL" in self.engines

    @property
    def cores(self) -> int:
        """Cores of the largest instance."""
        return self.chips * self.cores_per_chip

    @property
    def chip_hbm_gbps(self) -> float:
        """Bytes/ns of the memory that the cores of a chip share."""
        return self.hbm_gbps * self.cores_per_chip

    @property
    def psum_banks(self) -> int:
        """Return the banks per partition."""
        return self.psum_partition_bytes // self.psum_bank_bytes

    @property
    def dma_gbps(self) -> float:
        """Return the sustained bytes/ns of all DMA engines together."""
        return self.dma_engine_gbps * self.dma_engines

    def allowed_starts(self, partitions: int) -> tuple[int, ...]:
        """Return the start partitions allowed for an engine access of `partitions` partitions."""
        for size in sorted(self.partition_starts):
            if partitions <= size:
                return self.partition_starts[size]
        return ()


def with_cores_active(machine: Machine, cores: int) -> Machine:
    """Return the machine of one core while `cores` of its chip are active, including this one.

    Descriptors take longer, by the factor `dma_contention` if all cores are active and by a part of
    it if some are. Raises ValueError if the chip has fewer cores.
    """
    if not 1 <= cores <= machine.cores_per_chip:
        raise ValueError(
            f"a chip of {machine.name} has {machine.cores_per_chip} cores: {cores} can't be active"
        )
    if cores == 1:
        return machine
    others = (cores - 1) / (machine.cores_per_chip - 1)
    slower = 1.0 + (machine.dma_contention - 1.0) * others
    return replace(
        machine,
        dma_engine_gbps=machine.dma_engine_gbps / slower,
        dma_descriptor_ns=machine.dma_descriptor_ns * slower,
        dma_queue_descriptor_ns=machine.dma_queue_descriptor_ns * slower,
    )


def link_ns(sent: float, core: int, machine: Machine) -> float:
    """Return the time to send `sent` bytes from core `core` - 1 of a pipeline to core `core`.

    Cores of one chip exchange values in their shared memory; chips have a link.
    """
    if core % machine.cores_per_chip:
        return machine.core_handover_ns
    return machine.link_latency_ns + sent / machine.link_gbps


def with_numbers(machine: Machine, changes: Mapping[str, float]) -> Machine:
    """Return a copy of the machine with other field values, for what-if analysis.

    Raises ValueError if a name is not a numeric field, if an integer field gets a fraction, and for
    a value that no machine has: negative, infinite, or zero for anything but a time.
    """
    values: dict[str, float | int] = {}
    for name, value in changes.items():
        known = getattr(machine, name, None)
        if name not in machine.provenance or not isinstance(known, int | float):
            known_names = [n for n in machine.provenance if hasattr(machine, n)]
            near = get_close_matches(name, known_names, 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise ValueError(f"'{name}' is not a parameter of the machine {machine.name}{hint}")
        may_be_zero = not known or isinstance(known, bool) or "_ns" in name or "cycles" in name
        if not (math.isfinite(value) and value >= 0 and (value or may_be_zero)):
            least = "not negative" if may_be_zero else "positive"
            raise ValueError(f"'{name}' of the machine {machine.name} must be {least} and finite")
        if isinstance(known, int) and value != int(value):
            raise ValueError(f"'{name}' of the machine {machine.name} must be an integer")
        values[name] = int(value) if isinstance(known, int) else float(value)
    provenance = {
        **machine.provenance,
        **{name: "assumed: given on the command line" for name in values},
    }
    return replace(machine, **values, provenance=provenance)  # type: ignore[arg-type]


@by_identity
def description_of(machine: Machine) -> str:
    """Return a text that is equal for machines that compile alike, whatever their names.

    Stored plans use it as a key.
    """
    values = {f.name: getattr(machine, f.name) for f in fields(machine)}
    for aside in ("name", "provenance"):
        del values[aside]
    return repr([(name, _in_order(value)) for name, value in values.items()])


def _in_order(value: object) -> object:
    """Return a value whose text is the same for equal arguments."""
    if isinstance(value, Mapping):
        return sorted(value.items())
    return sorted(value) if isinstance(value, frozenset) else value


_MACHINES: dict[str, Machine] = {}


def register_machine(machine: Machine) -> None:
    """Check `machine` and register it by name for passes and the simulator."""
    machine.check()
    _MACHINES[machine.name] = machine


def installed_target(name: str) -> object | None:
    """Load the target of the entry point `neuronir.targets` with this name; None if there is
    none.
    """
    entries = (entry for entry in entry_points(group="neuronir.targets") if entry.name == name)
    return next((entry.load() for entry in entries), None)


def get_machine(name: str) -> Machine:
    """Return the machine with that name, loading the entry points of targets if it is unknown.

    Raises NeuronError NIR_TGT001 if there is none.
    """
    if name not in _MACHINES:
        machine = getattr(installed_target(name), "machine", None)
        if isinstance(machine, Machine) and name not in _MACHINES:
            register_machine(machine)
    if name not in _MACHINES:
        known = sorted(set(_MACHINES) | {e.name for e in entry_points(group="neuronir.targets")})
        raise NeuronError(
            "NIR_TGT001", f"unknown target '{name}'", help=f"known targets: {', '.join(known)}"
        )
    return _MACHINES[name]
