"""The keys of report.json with their units; the source of the tables in docs/report.md."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A key of the report."""

    name: str
    unit: str
    meaning: str


_BUSY = "time spent on instructions, without waits, relative to total_time_us"

FIELDS: tuple[Field, ...] = (
    Field("machine", "name", "machine that the program was compiled for"),
    Field("total_time_us", "us", "time from the first instruction to the last result"),
    Field(
        "launch_overhead_us",
        "us",
        "start and end of a run on hardware (fitted); not part of total_time_us",
    ),
    Field("peak_bf16_tflops", "TFLOP/s", "the machine's peak in bf16"),
    Field("hbm_peak_gbps", "GB/s", "the machine's peak bandwidth of HBM"),
    Field("dma_sustained_gbps", "GB/s", "what all DMA engines move together at most"),
    Field(
        "roofline_us",
        "us",
        "lower bound on the time of these instructions: the maximum of roofline_compute_us, "
        "roofline_dma_us and the loads in resource_us",
    ),
    Field("roofline_compute_us", "us", "executed matmul and transpose FLOPs at the peak rate"),
    Field("roofline_dma_us", "us", "bytes moved by DMA at the sustained rate of all engines"),
    Field(
        "roofline_hbm_us", "us", "maximum of roofline_compute_us and the HBM bytes at the peak rate"
    ),
    Field("roofline_percent", "%", "roofline_us / total_time_us"),
    Field("bound_by", "name", "busiest resource, or `latency` if every load is below 50 %"),
    Field("busiest_resource", "name", "resource with the largest load in resource_us"),
    Field("resource_us", "us by name", "load of each engine, of DMA and of the shared ports"),
    Field(
        "mfu_estimated_percent",
        "%",
        "executed matmul FLOPs relative to the bf16 peak; no transposes",
    ),
    Field(
        "hfu_estimated_percent", "%", "as MFU, with transposes and with each pass of fp32 counted"
    ),
    Field("mbu_estimated_percent", "%", "HBM bytes relative to the peak bandwidth of HBM"),
    Field("tensor_engine_active_time_percent", "%", _BUSY),
    Field("vector_engine_active_time_percent", "%", _BUSY),
    Field("scalar_engine_active_time_percent", "%", _BUSY),
    Field("gpsimd_engine_active_time_percent", "%", _BUSY),
    Field("sync_engine_active_time_percent", "%", _BUSY),
    Field("dma_active_time_percent", "%", "descriptor time over all DMA engines"),
    Field(
        "tensor_engine_instruction_count",
        "instructions",
        "executed instructions, including triggers",
    ),
    Field("vector_engine_instruction_count", "instructions", "executed instructions"),
    Field("scalar_engine_instruction_count", "instructions", "executed instructions"),
    Field("gpsimd_engine_instruction_count", "instructions", "executed instructions"),
    Field("sync_engine_instruction_count", "instructions", "executed instructions"),
    Field("instruction_count", "instructions", "executed instructions, including transfers"),
    Field(
        "walked_instruction_count",
        "instructions",
        "instructions simulated one by one, not extrapolated",
    ),
    Field("matmul_flops", "FLOP", "executed matmul FLOPs, 2 for each multiply-add"),
    Field("transpose_flops", "FLOP", "executed FLOPs of transposes on the tensor engine"),
    Field("transpose_us", "us", "time of the tensor engine spent on transposes"),
    Field("hbm_read_bytes", "bytes", "HBM bytes read by DMA"),
    Field("hbm_write_bytes", "bytes", "HBM bytes written by DMA"),
    Field(
        "host_input_bytes",
        "bytes",
        "bytes of all inputs, which the host copies to HBM before each run; "
        "the time of these copies is not part of total_time_us",
    ),
    Field(
        "host_output_bytes",
        "bytes",
        "bytes of all outputs, which the host reads after each run, as above",
    ),
    Field(
        "bytes_by_kind",
        "bytes",
        "bytes read and written, by kind of variable, and how many times its variables are read",
    ),
    Field("spill_save_bytes", "bytes", "bytes written to spill variables"),
    Field("spill_reload_bytes", "bytes", "bytes read from spill variables"),
    Field("dma_transfer_count", "transfers", "executed transfers"),
    Field("dma_trigger_us", "us", "time that engines spend on triggering transfers"),
    Field("dma_descriptor_count", "descriptors", "executed descriptors"),
    Field("dma_bytes", "bytes", "bytes moved by DMA engines, including copies within SBUF"),
    Field("dma_ring_bytes", "bytes", "size of the descriptors that the loader writes to HBM"),
    Field("average_dma_size", "bytes", "dma_bytes / dma_transfer_count"),
    Field("average_descriptor_size", "bytes", "dma_bytes / dma_descriptor_count"),
    Field("average_constant_row_size", "bytes", "average size of descriptors that read constants"),
    Field("port_stall_us", "us", "time that ACT, DVE and POOL wait for a shared port"),
    Field("act_table_load_count", "loads", "loads of activation function sets"),
    Field("act_table_load_us", "us", "time of these loads"),
    Field("barriers", "barriers", "executed barriers, at which all engines meet"),
    Field("semaphore_count", "semaphores", "semaphores used by the program"),
    Field(
        "cause",
        "row",
        "the largest row of `losses` and `work`: where most of the time goes, and what would help",
    ),
    Field("losses", "table", "the five largest losses of the busiest resource, with advice"),
    Field("work", "table", "what the busiest resource did at its full rate, with advice"),
    Field("ops", "table", "one row for each HLO op, largest share first"),
    Field("groups", "table", "one row for each group of ops that were lowered together"),
    Field("modules", "table", "one row for each module path of the framework ops, if any"),
    Field("loops", "table", "one row for each innermost loop"),
    Field("assumed_numbers", "names", "parameters of the machine that are assumed"),
)

_SUMS = (
    Field("tensor_us", "us", "time on the tensor engine"),
    Field("vector_us", "us", "time on the vector engine"),
    Field("scalar_us", "us", "time on the scalar engine, excluding table loads"),
    Field("gpsimd_us", "us", "time on the gpsimd engine"),
    Field("sync_us", "us", "time of the sync engine, spent on triggers"),
    Field("dma_us", "us", "descriptor time over all DMA engines"),
    Field("instructions", "instructions", "executed instructions"),
    Field("flops", "FLOP", "executed matmul FLOPs"),
    Field("useful_flops", "FLOP", "FLOPs of the HLO instruction itself, counted once"),
    Field("transpose_flops", "FLOP", "executed FLOPs of transposes on the tensor engine"),
    Field("hbm_read_bytes", "bytes", "HBM bytes read"),
    Field("hbm_write_bytes", "bytes", "HBM bytes written"),
    Field("transfers", "transfers", "executed transfers, each with a trigger"),
    Field("descriptors", "descriptors", "executed descriptors of the transfers"),
    Field("share_percent", "%", "part of the load of the busiest resource"),
    Field(
        "idle_us",
        "us",
        "idle time of the busiest resource before or during its instructions",
    ),
    Field(
        "path_us",
        "us",
        "time on the critical path of the run; null unless the run is recorded (--html, --trace)",
    ),
)

_RATES = (
    Field("bound", "name", "engine, or dma, that it occupies longest"),
    Field("flops_per_hbm_byte", "FLOP/byte", "flops / HBM bytes; null without HBM bytes"),
    Field("bytes_per_descriptor", "bytes", "average size of its descriptors; null without"),
    Field("attained_tflops", "TFLOP/s", "flops / time of `bound`, excluding waits"),
)

OP_FIELDS: tuple[Field, ...] = (
    Field("name", "name", "name of the HLO instruction"),
    Field("opcode", "name", "opcode, or name of the composite"),
    Field("framework_op", "name", "framework op in the metadata"),
    Field("source", "file:line", "source line in the metadata"),
    *_SUMS,
    Field("loss_us", "us", "its part of the loss in which it has the largest part"),
    Field("loss", "text", "`what` of that loss, which may be none of the five largest"),
    Field("advice", "text", "what reduces that loss"),
    *_RATES,
    Field("group", "name", "name of its row in `groups`"),
)

GROUP_FIELDS: tuple[Field, ...] = (
    Field("name", "name", "main op of the group"),
    Field("ops", "names", "HLO ops in the group or loop"),
    *_SUMS,
    *_RATES,
)

MODULE_FIELDS: tuple[Field, ...] = (
    Field("name", "path", "modules in `framework_op` of its ops, separated by /"),
    Field("depth", "modules", "length of the path"),
    Field("ops", "ops", "number of rows of `ops` in the module, over which the row sums"),
    *_SUMS,
    *(field for field in _RATES if field.name in ("bound", "bytes_per_descriptor")),
)

LOSS_FIELDS: tuple[Field, ...] = (
    Field("us", "us", "time of the busiest resource"),
    Field("percent", "%", "us relative to total_time_us"),
    Field("what", "text", "what happened"),
    Field("advice", "text", "what would help"),
    Field("worst_op", "name", "HLO op with the largest part of it"),
    Field("ops", "ops", "number of HLO ops that contribute"),
)

LOOP_FIELDS: tuple[Field, ...] = (
    Field("function", "name", "function that contains the loop"),
    Field(
        "trip_counts",
        "iterations",
        "trip counts of the enclosing loops and of the loop itself, outermost first",
    ),
    Field("busiest_resource", "name", "bottleneck of an iteration"),
    Field("round_us", "us by name", "load of each resource in one iteration"),
    Field("ops", "names", "HLO ops in the group or loop"),
)


def fields_markdown() -> str:
    """Return the tables of docs/report.md."""
    parts = []
    for title, fields in (
        ("report.json", FIELDS),
        ("A row of `ops`", OP_FIELDS),
        ("A row of `groups`", GROUP_FIELDS),
        ("A row of `modules`", MODULE_FIELDS),
        ("A row of `losses` and `work`", LOSS_FIELDS),
        ("A row of `loops`", LOOP_FIELDS),
    ):
        lines = [f"## {title}", "", "| key | unit | meaning |", "|---|---|---|"]
        lines += [f"| `{f.name}` | {f.unit} | {f.meaning} |" for f in fields]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"
