"""The machine description of Trn1: one NeuronCore-v2 of Trainium1 (or Inferentia2).

Public facts come from the AWS Neuron SDK documentation and driver. Other values are inferred,
fitted to published measurements, or assumed, as `PROVENANCE` states.
"""

from neuronir.dialects.nc.machine import Machine, register_machine

KIB = 1024

# The functions whose tables share one set. Functions in no set are plain arithmetic and in every
# set.
ACTIVATION_TABLES: dict[str, frozenset[str]] = {
    "natural_log_exp": frozenset({"EXP", "LOG"}),
    "gelu": frozenset({"GELU", "GELU_TANH"}),
    "reciprocal": frozenset({"RECIPROCAL", "SQRT", "RSQRT"}),
    "sigmoid": frozenset({"SIGMOID", "TANH"}),
    "silu": frozenset({"SILU"}),
    "softplus": frozenset({"SOFTPLUS", "MISH"}),
    "erf": frozenset({"ERF"}),
    "trigonometric": frozenset({"SIN", "ARCTAN"}),
}

ACTIVATIONS = frozenset(
    {"COPY", "SQUARE", "SIGMOID", "RELU", "GELU", "GELU_TANH", "SILU", "TANH", "SOFTPLUS", "MISH"}
    | {"ERF", "EXP", "LOG", "SIN", "ARCTAN", "SQRT", "RSQRT", "RECIPROCAL", "SIGN", "ABS"}
)

_ARCH = "public: aws-neuron-sdk nki/guides/architecture/trainium_inferentia2_arch"
_ISA = "public: aws-neuron-sdk@1db4d74e nki/api/nki/isa"
_DRIVER = "public: aws-neuron-driver v2/address_map.h"

PROVENANCE: dict[str, str] = {
    "partitions": _ARCH,
    "sbuf_partition_bytes": f"{_ARCH} (24 MiB = 128 x 192 KiB)",
    "sbuf_usable_partition_bytes": "public: nkipy HardwareConstants.h (192 KiB less 16 KiB)",
    "psum_partition_bytes": f"{_ARCH} (2 MiB = 128 x 16 KiB)",
    "psum_bank_bytes": f"{_ARCH} (8 banks of 512 fp32)",
    "hbm_bytes": "inferred: 32 GiB a chip (public), two cores a chip",
    "partition_starts": f"{_ARCH} (start partition by size)",
    "pe_ghz": _ARCH,
    "act_ghz": _ARCH,
    "dve_ghz": "public: aws-neuron-sdk trainium_inferentia2_arch (1.12 GHz)",
    "pool_ghz": _ARCH,
    "pe_rows": _ARCH,
    "pe_columns": _ARCH,
    "matmul_max_moving": f"{_ARCH} (one PSUM bank)",
    "matmul_min_cycles": f"{_ISA} nc_matmul (max(min(64, N_stationary), N_moving))",
    "matmul_overhead_cycles": "fitted: NKI-mm-3, 595 cycles for 512 columns with a new 128-column "
    "stationary (32 cycles of load); fp32 AO-transpose_matmul 2,389 = 4 x 597 agrees",
    "stationary_load_divisor": f"{_ARCH} (128 columns load in about 32 cycles)",
    "fp32_passes": f"{_ISA} nc_matmul (fp32 takes 4x)",
    "fp32_transpose_passes": "inferred: a transpose is a product with an identity (a mode for it "
    "only came with v3), and an operand of 0 and 1 halves the passes (is_onezero); the counters of "
    "AO-matmul_add_rmsnorm count 2 for a transpose",
    "pe_latency_cycles": "inferred: MM_INIT_LATENCY 64 (public) + 128 rows of systolic fill",
    "act_min_cycles": f"{_ISA} (MIN_II about 64)",
    "act_overhead_cycles": "fitted: 45 (AO-bmm evictions) to 115 (AO-adamw) per instruction; kept "
    "at 60 so that small independent instructions start every 64 cycles (AC-conv1d-tt-instr)",
    "act_latency_cycles": "public: nki_perf_guide Opt #5a, dependent [P,1] chain 264 cycles apart",
    "act_table_load_ns": "assumed: 1283 ns is a third party's measurement on Trn2",
    "act_accumulate_cycles": f"{_ISA} activation_reduce (+ MIN_II)",
    "activation_tables": "assumed: the set names natural_log_exp, gelu and reciprocal are public, "
    "their members are not",
    "dve_min_cycles": f"{_ISA} (MIN_II about 64)",
    "dve_overhead_cycles": "fitted: tt N + 53 (AC-4_conv1d-6), 2N + 68 (NKI-mamba1), 75 in AC-3_"
    "mamba-7, 107 (AO-rope); independent [128,3] every 66 cycles (AC-conv1d-tt-instr)",
    "dve_latency_cycles": "assumed: the 189 ns of a dependent ACT chain, at the clock of DVE",
    "dve_two_input_cycles": f"{_ISA} tensor_tensor (2N, both from SBUF)",
    "dve_reduce_16bit_cycles": f"{_ISA} tensor_reduce (N/2, bf16 add or max)",
    "dve_memset_16bit_cycles": f"{_ISA} memset (N/2, zero in bf16 or fp16)",
    "bn_aggr_cycles": f"{_ISA} bn_aggr (13 * N/3)",
    "reciprocal_cycles_per_element": "fitted: the documented 8 is ruled out by AO-adamw and "
    "AO-silu (at most 2.7); about 2 fits AO-adamw",
    "strided_access_bytes": f"{_ARCH} (innermost stride beyond 16 B)",
    "strided_access_factor": f"{_ARCH} (bandwidth halves)",
    "pool_overhead_cycles": f"{_ISA} iota (150 + N)",
    "pool_latency_cycles": "assumed: the 189 ns of a dependent ACT chain, at the clock of POOL",
    "pool_cycles_per_element": "assumed: 150 + N for one input is public (aws-neuron-sdk@1db4d74e "
    "nki/api/nki/isa iota), 2N for two inputs is not",
    "pool_gather_cycles": "assumed: nki.isa nc_n_gather has no public cost; as local_gather with "
    "one element an index, (28 + 4e)/(4e) = 8, whose formula as printed divides by it, which "
    "would beat a copy",
    "pool_gather_table": "public: aws-neuron-sdk nki.isa nc_n_gather (a group of instructions for "
    "each 512 elements); that all indices pass each group is inferred",
    "pool_partition_reduce_cycles": "assumed: third parties call tensor_partition_reduce very "
    "slow; one element of one partition a cycle in each of 8 processors, then 8 partial results",
    "max_free_dims": f"{_ARCH} (up to 4)",
    "max_free_sbuf": f"{_ARCH} (64K elements)",
    "max_free_psum": f"{_ARCH} (4K elements)",
    "bn_stats_max": f"{_ISA} bn_stats",
    "dma_engines": f"{_ARCH} (16 a core)",
    "dma_queues": "public: aws-neuron-sdk nki-dma-overview (16 queues an engine)",
    "dma_engine_gbps": "public: aws-neuron-sdk nki-dma-bandwidth-guide (17 B/ns sustained, Trn1)",
    "dma_fixed_ns": "assumed: 1300 ns from the semaphore to the start are public "
    "(nki-dma-bandwidth-guide), 700 ns for completion are not; CS-vadd-fd200 bounds two round "
    "trips and start-up by 19 us",
    "dma_completion_ns": "assumed: see dma_fixed_ns",
    "dma_trigger_ns": "fitted: CS-vadd-rc1, 1.07 us for three one-row transfers",
    "dma_small_bytes": "fitted: CS-vadd-rc1 and CS-vadd-rc128 take 1.03 to 1.07 us for three "
    "transfers of 4 and 512 bytes, CS-vadd-fd2 at most 0.34 us for three of 1 KiB",
    "dma_descriptor_ns": "fitted: NKI-mm-0, 99 ns a row and engine where two inputs load at once",
    "dma_queue_descriptor_ns": "fitted: NKI-mm-2, one stream of 1 KiB rows at 100 GB/s; the plot "
    "of nki-dma-intro has the same floor, 2450 B a row at the full rate (Trn2)",
    "dma_burst_bytes": "fitted: CS-vadd-fd2, at most 0.34 us for three [128, 2] fp32 tiles that "
    "are contiguous in HBM",
    "dma_descriptor_bytes": "public: aws-neuron-driver udma/udma.h",
    "dma_max_descriptor_bytes": "public: aws-neuron-driver udma/udma.h",
    "dma_software_descriptor_ns": "assumed: 28 POOL cycles a descriptor; not public",
    "dma_max_dims": "public: aws-neuron-sdk work-with-neff-files (4 dims each side)",
    "hbm_gbps": "inferred: 820 GB/s a chip (public), two cores a chip",
    "hbm_conflict_pitch_bytes": "assumed: off, as nothing is public; see accuracy.md on AO-rope",
    "hbm_conflict_factor": "assumed: off, as nothing is public",
    "cores_per_chip": _ARCH,
    "dma_contention": "fitted: HF-bge-b1-s256 and -s512 take 6 % longer (Inf2) where both cores of "
    "a chip run the model, which streams its weights from HBM",
    "chips": "public: aws-neuron-sdk neuron-hardware/trn1-arch (trn1.32xlarge: 16 chips)",
    "link_gbps": "inferred: 384 GB/s a chip (public: trn1-arch), over 4 ports",
    "link_latency_ns": "assumed: as a DMA transfer, since links are windows that DMA writes into",
    "core_handover_ns": "assumed: as semaphore_latency_ns; whether a semaphore of one core can be "
    "raised by another is not public",
    "semaphores": _DRIVER,
    "semaphore_latency_ns": "assumed: not public; engines meet over on-chip wires",
    "registers": "public: aws-neuron-sdk nki.isa register_alloc (64 an engine)",
    "register_load_ns": "inferred: tensor_copy_dynamic_src, about 140 cycles for the index read",
    "branch_ns": "assumed: not public; as the static overhead of a small or dependent instruction, "
    "100 cycles of 1.4 GHz (trainium_inferentia2_arch)",
    "instruction_fetch_ns": "assumed: off; that queue 14 fetches instructions is public "
    "(aws-neuron-driver), not how fast",
    "shared_ports": f"{_ARCH} (DVE or POOL on SBUF; ACT or DVE on PSUM)",
    "program_overhead_ns": "fitted: CS-vadd-fd200, 19 us less two DMA round trips and one add",
    "has_control_flow": _ARCH,
    "dtypes": "public: aws-neuron-sdk data-types, nki.api.shared",
    "matmul_dtypes": f"{_ISA} nc_matmul",
    "activations": "public: aws-neuron-sdk nki.api.shared",
    "gather_in_dma": "public: aws-neuron-sdk nki-dge (software descriptors on v2)",
    "dma_casts": "public: aws-neuron-sdk work-with-neff-files",
    "engines": _ARCH,
    "peak_flops_bf16": "inferred: 128 x 128 x 2 x 2.8 GHz; published as 92e12",
    "peak_flops_fp32": "inferred: a quarter of bf16; published as 23e12",
}

TRN1 = Machine(
    name="trn1",
    generation=2,
    partitions=128,
    sbuf_partition_bytes=192 * KIB,
    sbuf_usable_partition_bytes=176 * KIB,
    psum_partition_bytes=16 * KIB,
    psum_bank_bytes=2 * KIB,
    hbm_bytes=16 * KIB**3,
    partition_starts={32: (0, 32, 64, 96), 64: (0, 64), 128: (0,)},
    pe_ghz=2.8,
    act_ghz=1.4,
    dve_ghz=1.12,
    pool_ghz=1.4,
    pe_rows=128,
    pe_columns=128,
    matmul_max_moving=512,
    matmul_min_cycles=64,
    matmul_overhead_cycles=51,
    stationary_load_divisor=4,
    fp32_passes=4,
    fp32_transpose_passes=2,
    pe_latency_cycles=192,
    act_min_cycles=64,
    act_overhead_cycles=60,
    act_latency_cycles=264,
    act_table_load_ns=1283.0,
    act_accumulate_cycles=64,
    activation_tables=ACTIVATION_TABLES,
    dve_min_cycles=64,
    dve_overhead_cycles=60,
    dve_latency_cycles=211,
    dve_two_input_cycles=2.0,
    dve_reduce_16bit_cycles=0.5,
    dve_memset_16bit_cycles=0.5,
    bn_aggr_cycles=13.0,
    reciprocal_cycles_per_element=2.0,
    strided_access_bytes=16,
    strided_access_factor=2.0,
    pool_overhead_cycles=150,
    pool_latency_cycles=264,
    pool_cycles_per_element=1.0,
    pool_gather_cycles=8.0,
    pool_gather_table=512,
    pool_partition_reduce_cycles=0.1875,  # (16 + 8) / 128 of the partitions' elements
    max_free_dims=4,
    max_free_sbuf=65536,
    max_free_psum=4096,
    bn_stats_max=512,
    dma_engines=16,
    dma_queues=16,
    dma_engine_gbps=17.0,
    dma_fixed_ns=2000.0,
    dma_completion_ns=700.0,
    dma_trigger_ns=350.0,
    dma_small_bytes=512,
    dma_descriptor_ns=99.0,
    dma_queue_descriptor_ns=160.0,
    dma_burst_bytes=64,
    dma_descriptor_bytes=16,
    dma_max_descriptor_bytes=64 * KIB,
    dma_software_descriptor_ns=20.0,
    dma_max_dims=4,
    hbm_gbps=410.0,
    hbm_conflict_pitch_bytes=0,
    hbm_conflict_factor=1.0,
    cores_per_chip=2,
    dma_contention=1.06,
    chips=16,
    link_gbps=96.0,
    link_latency_ns=2000.0,
    core_handover_ns=60.0,
    semaphores=256,
    semaphore_latency_ns=60.0,
    registers=64,
    register_load_ns=100.0,
    branch_ns=71.4,
    instruction_fetch_ns=0.0,
    shared_ports=frozenset({"psum", "sbuf"}),
    program_overhead_ns=12000.0,
    has_control_flow=True,
    dtypes=frozenset(
        {"F32", "TF32", "BF16", "F16", "F8E3M4", "F8E4M3", "F8E5M2"}
        | {"I8", "U8", "I16", "U16", "I32", "U32", "BOOL"}
    ),
    matmul_dtypes=frozenset({"F32", "TF32", "BF16", "F16", "F8E4M3", "F8E5M2"}),
    activations=ACTIVATIONS,
    gather_in_dma=True,
    dma_casts=True,
    engines=frozenset({"PE", "ACT", "DVE", "POOL"}),
    peak_flops_bf16=2.0 * 128 * 128 * 2.8e9,
    peak_flops_fp32=0.5 * 128 * 128 * 2.8e9,
    provenance=PROVENANCE,
)

register_machine(TRN1)
