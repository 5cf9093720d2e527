"""The keys of report.json with their units; docs/report.md is made of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A key of the report."""

    name: str
    unit: str
    meaning: str


_BUSY = "busy (issuing, waits not counted), of total_time_us"

FIELDS: tuple[Field, ...] = (
    Field("machine", "name", "the machine of the program"),
    Field("total_time_us", "us", "first instruction to last result"),
    Field(
        "launch_overhead_us",
        "us",
        "start-up and tear-down of a run on hardware, fitted; not in total_time_us",
    ),
    Field(
        "roofline_us",
        "us",
        "no run of these instructions can be faster: the largest of roofline_compute_us, "
        "roofline_dma_us and the loads in resource_us",
    ),
    Field("roofline_compute_us", "us", "executed matmul and transpose FLOPs at the peak rate"),
    Field("roofline_dma_us", "us", "bytes moved by DMA at the sustained rate of all engines"),
    Field("roofline_hbm_us", "us", "the larger of roofline_compute_us and HBM bytes at HBM's peak"),
    Field("roofline_percent", "%", "roofline_us of total_time_us"),
    Field("bound_by", "name", "the busiest resource, or `latency` where none is half busy"),
    Field("busiest_resource", "name", "the resource with the largest load in resource_us"),
    Field("resource_us", "us by name", "load of each engine, of dma, and of the shared ports"),
    Field("mfu_estimated_percent", "%", "executed matmul FLOPs of the bf16 peak; no transposes"),
    Field("hfu_estimated_percent", "%", "the same with transposes, fp32 counted by its passes"),
    Field("mbu_estimated_percent", "%", "HBM bytes of HBM's peak bandwidth"),
    Field("tensor_engine_active_time_percent", "%", _BUSY),
    Field("vector_engine_active_time_percent", "%", _BUSY),
    Field("scalar_engine_active_time_percent", "%", _BUSY),
    Field("gpsimd_engine_active_time_percent", "%", _BUSY),
    Field("sync_engine_active_time_percent", "%", _BUSY),
    Field("dma_active_time_percent", "%", "descriptor time over all DMA engines"),
    Field("tensor_engine_instruction_count", "instructions", "executed, triggers included"),
    Field("vector_engine_instruction_count", "instructions", "executed"),
    Field("scalar_engine_instruction_count", "instructions", "executed"),
    Field("gpsimd_engine_instruction_count", "instructions", "executed"),
    Field("sync_engine_instruction_count", "instructions", "executed"),
    Field("instruction_count", "instructions", "executed, transfers included"),
    Field("walked_instruction_count", "instructions", "simulated one by one, not extrapolated"),
    Field("matmul_flops", "FLOP", "executed, 2 per multiply and add"),
    Field("transpose_flops", "FLOP", "executed by transposes on the tensor engine"),
    Field("transpose_us", "us", "time of the tensor engine in transposes"),
    Field("hbm_read_bytes", "bytes", "all reads of HBM by DMA"),
    Field("hbm_write_bytes", "bytes", "all writes of HBM by DMA"),
    Field("bytes_by_kind", "bytes", "read and written, by kind of variable"),
    Field("spill_save_bytes", "bytes", "written to spill variables"),
    Field("spill_reload_bytes", "bytes", "read from spill variables"),
    Field("dma_transfer_count", "transfers", "executed"),
    Field("dma_trigger_us", "us", "time of the engines in starting transfers"),
    Field("dma_descriptor_count", "descriptors", "executed"),
    Field("dma_bytes", "bytes", "moved by DMA engines, also inside SBUF"),
    Field("dma_ring_bytes", "bytes", "descriptors in HBM that the loader writes"),
    Field("average_dma_size", "bytes", "dma_bytes of a transfer"),
    Field("average_descriptor_size", "bytes", "dma_bytes of a descriptor"),
    Field("average_constant_row_size", "bytes", "a descriptor that reads a constant"),
    Field("port_stall_us", "us", "waits of ACT, DVE and POOL for a port that another held"),
    Field("act_table_load_count", "loads", "changes of the activation function set"),
    Field("act_table_load_us", "us", "time of those"),
    Field("barriers", "barriers", "at which all engines meet"),
    Field("semaphore_count", "semaphores", "used by the program"),
    Field("losses", "table", "the five largest losses of the busiest resource, in words"),
    Field("ops", "table", "one row for each HLO op with instructions, largest share first"),
    Field("groups", "table", "one row for each group of ops that were lowered as one"),
    Field("loops", "table", "one row for each innermost loop"),
    Field("assumed_numbers", "names", "numbers of the machine that are assumptions"),
)

OP_FIELDS: tuple[Field, ...] = (
    Field("name", "name", "the HLO instruction"),
    Field("opcode", "name", "its opcode or composite"),
    Field("framework_op", "name", "the framework op of its metadata"),
    Field("source", "file:line", "the source line of its metadata"),
    Field("tensor_us", "us", "time on the tensor engine"),
    Field("vector_us", "us", "time on the vector engine"),
    Field("scalar_us", "us", "time on the scalar engine, without table loads"),
    Field("gpsimd_us", "us", "time on the gpsimd engine"),
    Field("sync_us", "us", "time of the sync engine, in starting transfers"),
    Field("dma_us", "us", "descriptor time over all DMA engines"),
    Field("instructions", "instructions", "executed"),
    Field("flops", "FLOP", "executed by matmuls"),
    Field("useful_flops", "FLOP", "of the HLO instruction itself, counted once"),
    Field("transpose_flops", "FLOP", "executed by transposes on the tensor engine"),
    Field("hbm_read_bytes", "bytes", "read"),
    Field("hbm_write_bytes", "bytes", "written"),
    Field("share_percent", "%", "of the load of the busiest resource"),
    Field(
        "idle_us",
        "us",
        "for which the busiest resource stood still before, or in, its instructions",
    ),
    Field("bound", "name", "the engine, or dma, that it keeps busy longest"),
    Field("group", "name", "the row of `groups` that it belongs to"),
)

GROUP_FIELDS: tuple[Field, ...] = (
    Field("name", "name", "the op that the group was lowered for"),
    Field("ops", "names", "the HLO ops in it"),
    *(f for f in OP_FIELDS if f.unit in ("us", "FLOP", "bytes", "%", "instructions")),
    Field("bound", "name", "the engine, or dma, that it keeps busy longest"),
)

LOSS_FIELDS: tuple[Field, ...] = (
    Field("us", "us", "lost by the busiest resource"),
    Field("percent", "%", "of total_time_us"),
    Field("what", "text", "what happened"),
    Field("advice", "text", "what would help"),
    Field("worst_op", "name", "the HLO op with most of it"),
    Field("ops", "ops", "how many HLO ops have part in it"),
)

LOOP_FIELDS: tuple[Field, ...] = (
    Field("function", "name", "the function that holds the loop"),
    Field("trip_counts", "rounds", "of the loops around it and of itself, outermost first"),
    Field("busiest_resource", "name", "what bounds a round"),
    Field("round_us", "us by name", "load of each resource in one round"),
    Field("ops", "names", "the HLO ops in it"),
)


def fields_markdown() -> str:
    """The tables of docs/report.md."""
    parts = []
    for title, fields in (
        ("report.json", FIELDS),
        ("A row of `ops`", OP_FIELDS),
        ("A row of `groups`", GROUP_FIELDS),
        ("A row of `losses`", LOSS_FIELDS),
        ("A row of `loops`", LOOP_FIELDS),
    ):
        lines = [f"## {title}", "", "| key | unit | meaning |", "|---|---|---|"]
        lines += [f"| `{f.name}` | {f.unit} | {f.meaning} |" for f in fields]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"
