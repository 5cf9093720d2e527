"""report.json: what a run took, what bounds it, and where the time and the bytes went.

Names follow the public profiler. `FIELDS`, `OP_FIELDS` and `LOOP_FIELDS` list every key with its
unit; docs/report.md is made of them.
"""

from dataclasses import dataclass
from typing import Any

from neuronir.dialects.nc.machine import Machine
from neuronir.targets.simulator.attribution import (
    ENGINES,
    OpShare,
    Usage,
    bytes_by_kind,
    resource_times,
    shares,
    usage_of,
)
from neuronir.targets.simulator.loops import loop_loads
from neuronir.targets.simulator.timing import TimingResult
from neuronir.targets.simulator.timing_code import TRANSFER

Report = dict[str, Any]

_KINDS = ("input", "output", "constant", "scratch", "spill", "other")


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
    Field("dma_active_time_percent", "%", "descriptor time over all DMA engines"),
    Field("tensor_engine_instruction_count", "instructions", "executed"),
    Field("vector_engine_instruction_count", "instructions", "executed"),
    Field("scalar_engine_instruction_count", "instructions", "executed"),
    Field("gpsimd_engine_instruction_count", "instructions", "executed"),
    Field("sync_engine_instruction_count", "instructions", "executed"),
    Field("instruction_count", "instructions", "executed, transfers included"),
    Field("walked_instruction_count", "instructions", "simulated one by one, not extrapolated"),
    Field("matmul_flops", "FLOP", "executed, 2 per multiply and add"),
    Field("transpose_flops", "FLOP", "executed by transposes on the tensor engine"),
    Field("hbm_read_bytes", "bytes", "all reads of HBM by DMA"),
    Field("hbm_write_bytes", "bytes", "all writes of HBM by DMA"),
    Field("bytes_by_kind", "bytes", "read and written, by kind of variable"),
    Field("spill_save_bytes", "bytes", "written to spill variables"),
    Field("spill_reload_bytes", "bytes", "read from spill variables"),
    Field("dma_transfer_count", "transfers", "executed"),
    Field("dma_descriptor_count", "descriptors", "executed"),
    Field("dma_bytes", "bytes", "moved by DMA engines, also inside SBUF"),
    Field("dma_ring_bytes", "bytes", "descriptors in HBM that the loader writes"),
    Field("average_dma_size", "bytes", "dma_bytes of a transfer"),
    Field("average_descriptor_size", "bytes", "dma_bytes of a descriptor"),
    Field("port_stall_us", "us", "waits of ACT, DVE and POOL for a port that another held"),
    Field("act_table_load_count", "loads", "changes of the activation function set"),
    Field("act_table_load_us", "us", "time of those"),
    Field("barriers", "barriers", "at which all engines meet"),
    Field("semaphore_count", "semaphores", "used by the program"),
    Field("ops", "table", "one row for each HLO op with instructions, largest share first"),
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
    Field("dma_us", "us", "descriptor time over all DMA engines"),
    Field("instructions", "instructions", "executed"),
    Field("flops", "FLOP", "executed by matmuls"),
    Field("useful_flops", "FLOP", "of the HLO instruction itself, counted once"),
    Field("transpose_flops", "FLOP", "executed by transposes on the tensor engine"),
    Field("hbm_read_bytes", "bytes", "read"),
    Field("hbm_write_bytes", "bytes", "written"),
    Field("share_percent", "%", "of the load of the busiest resource"),
)

LOOP_FIELDS: tuple[Field, ...] = (
    Field("function", "name", "the function that holds the loop"),
    Field("trip_counts", "rounds", "of the loops around it and of itself, outermost first"),
    Field("busiest_resource", "name", "what bounds a round"),
    Field("round_us", "us by name", "load of each resource in one round"),
    Field("ops", "names", "the HLO ops in it"),
)


def build_report(result: TimingResult, usage: Usage | None = None) -> Report:
    """The report of a timing run; all keys of FIELDS."""
    code, machine = result.code, result.machine
    usage = usage or usage_of(code)
    total = result.total_ns
    table = shares(code, usage)
    loads = _loads(result, usage)
    kinds = bytes_by_kind(code, usage)
    counts = usage.counts
    flops = sum(row.flops for row in table)
    transposes = sum(row.transpose_flops for row in table)
    read, written = sum(row.read for row in table), sum(row.written for row in table)
    transfers = [(op, n) for op, n in zip(code.ops, counts, strict=True) if op.kind == TRANSFER]
    moved = sum(n * op.cost.bytes for op, n in transfers)
    descriptors = sum(n * op.cost.descriptors for op, n in transfers)
    transfer_count = sum(n for _, n in transfers)
    peak_ns = sum(n * op.cost.peak_ns for op, n in zip(code.ops, counts, strict=True))
    dma_ns = moved / machine.dma_gbps
    busiest = max(loads, key=lambda name: loads[name])
    roofline = max(peak_ns, dma_ns, loads[busiest])
    check_roofline(roofline, total)
    spill = kinds.get("spill")
    issued = dict.fromkeys(ENGINES.values(), 0)
    for op, n in zip(code.ops, counts, strict=True):
        name = ENGINES.get(op.instruction.engine)
        if name:
            issued[name] += n
    report: Report = {
        "machine": machine.name,
        "total_time_us": total / 1e3,
        "launch_overhead_us": machine.program_overhead_ns / 1e3,
        "roofline_us": roofline / 1e3,
        "roofline_compute_us": peak_ns / 1e3,
        "roofline_dma_us": dma_ns / 1e3,
        "roofline_hbm_us": max(peak_ns, (read + written) / machine.hbm_gbps) / 1e3,
        "roofline_percent": _percent(roofline, total),
        "bound_by": busiest if loads[busiest] >= total / 2 and total else "latency",
        "busiest_resource": busiest,
        "resource_us": {name: time / 1e3 for name, time in loads.items()},
        "mfu_estimated_percent": _percent(flops, machine.peak_flops_bf16 * total / 1e9),
        "hfu_estimated_percent": _percent(peak_ns, total),
        "mbu_estimated_percent": _percent(read + written, machine.hbm_gbps * total),
    }
    for name in ("tensor", "vector", "scalar", "gpsimd"):
        report[f"{name}_engine_active_time_percent"] = _percent(loads[name], total)
    report["dma_active_time_percent"] = _percent(loads["dma"], total)
    for name, n in issued.items():
        report[f"{name}_engine_instruction_count"] = n
    report |= {
        "instruction_count": sum(counts),
        "walked_instruction_count": result.walked,
        "matmul_flops": flops,
        "transpose_flops": transposes,
        "hbm_read_bytes": read,
        "hbm_write_bytes": written,
        "bytes_by_kind": {
            kind: {"read": kinds[kind].read, "written": kinds[kind].written}
            for kind in _KINDS
            if kind in kinds
        },
        "spill_save_bytes": spill.written if spill else 0,
        "spill_reload_bytes": spill.read if spill else 0,
        "dma_transfer_count": transfer_count,
        "dma_descriptor_count": descriptors,
        "dma_bytes": moved,
        "dma_ring_bytes": descriptors * machine.dma_descriptor_bytes,
        "average_dma_size": moved / transfer_count if transfer_count else 0.0,
        "average_descriptor_size": moved / descriptors if descriptors else 0.0,
        "port_stall_us": result.port_stall_ns / 1e3,
        "act_table_load_count": result.table_loads,
        "act_table_load_us": result.table_loads * machine.act_table_load_ns / 1e3,
        "barriers": result.barriers,
        "semaphore_count": code.semaphores,
        "ops": _op_rows(result, table, busiest),
        "loops": _loop_rows(result),
        "assumed_numbers": assumed_numbers(machine),
    }
    return report


def check_roofline(roofline_ns: float, total_ns: float) -> None:
    """An internal check: nothing is faster than its roofline (but for rounding to ticks)."""
    if total_ns < roofline_ns * 0.999 - 1.0:
        raise AssertionError(
            f"the timing model is wrong: {total_ns} ns is less than the roofline of {roofline_ns}"
        )


def assumed_numbers(machine: Machine) -> list[str]:
    """The numbers of `machine` that are neither public nor inferred nor fitted."""
    return sorted(
        name for name, text in machine.provenance.items() if text.split(":")[0] == "assumed"
    )


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0


def _loads(result: TimingResult, usage: Usage) -> dict[str, float]:
    """Load in ns of each resource over the run."""
    loads = dict.fromkeys(
        ("tensor", "vector", "scalar", "gpsimd", "dma", "psum_port", "sbuf_port"), 0.0
    )
    for op, count in zip(result.code.ops, usage.counts, strict=True):
        for name, time in resource_times(op, result.machine.dma_engines).items():
            if name in loads:
                loads[name] += count * time
    loads["scalar"] += result.table_loads * result.machine.act_table_load_ns
    return loads


def _op_rows(result: TimingResult, table: list[OpShare], busiest: str) -> list[Report]:
    sources = result.program.sources
    whole = sum(row.time_ns.get(busiest, 0.0) for row in table)
    rows = []
    for row in table:
        source = sources[row.source] if row.source < len(sources) else None
        rows.append(
            {
                "name": source.name if source else "",
                "opcode": source.opcode if source else "",
                "framework_op": source.framework if source else "",
                "source": f"{source.file}:{source.line}" if source and source.file else "",
                **{
                    f"{name}_us": row.time_ns.get(name, 0.0) / 1e3
                    for name in ("tensor", "vector", "scalar", "gpsimd", "dma")
                },
                "instructions": row.instructions,
                "flops": row.flops,
                "useful_flops": source.flops if source else 0,
                "transpose_flops": row.transpose_flops,
                "hbm_read_bytes": row.read,
                "hbm_write_bytes": row.written,
                "share_percent": _percent(row.time_ns.get(busiest, 0.0), whole),
            }
        )
    rows.sort(key=_rank)
    return rows


def _rank(row: Report) -> tuple[float, float]:
    times = sum(float(row[f"{n}_us"]) for n in ("tensor", "vector", "scalar", "gpsimd", "dma"))
    return (-float(row["share_percent"]), -times)


def _loop_rows(result: TimingResult) -> list[Report]:
    sources = result.program.sources
    return [
        {
            "function": loop.function,
            "trip_counts": list(loop.trip_counts),
            "busiest_resource": loop.busiest,
            "round_us": {name: time / 1e3 for name, time in sorted(loop.load_ns.items())},
            "ops": sorted({sources[s].name for s in loop.sources if s < len(sources)}),
        }
        for loop in loop_loads(result.code)
    ]


def fields_markdown() -> str:
    """The tables of docs/report.md."""
    parts = []
    for title, fields in (
        ("report.json", FIELDS),
        ("A row of `ops`", OP_FIELDS),
        ("A row of `loops`", LOOP_FIELDS),
    ):
        lines = [f"## {title}", "", "| key | unit | meaning |", "|---|---|---|"]
        lines += [f"| `{f.name}` | {f.unit} | {f.meaning} |" for f in fields]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"
