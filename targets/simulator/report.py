"""Build report.json: the time of a run, its bottleneck, and where time and bytes went.

Names follow the public profiler. report_fields.py lists every key with its unit.
"""

from collections.abc import Mapping

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine
from neuronir.targets.simulator.attribution import (
    ENGINES,
    Traffic,
    Usage,
    bytes_by_kind,
    read_times,
    resource_times,
    shares,
    usage_of,
)
from neuronir.targets.simulator.critical import critical_path
from neuronir.targets.simulator.loops import loop_loads
from neuronir.targets.simulator.losses import find_losses, waiting_streams
from neuronir.targets.simulator.report_rows import Report, Rows, percent
from neuronir.targets.simulator.timing import TimingResult
from neuronir.targets.simulator.timing_code import TRANSFER, ProgramCode
from neuronir.targets.simulator.work import find_work

_TOP_LOSSES = 5
_KINDS = ("input", "output", "constant", "scratch", "spill", "other")
_HOST_KINDS = ("input", "output")


def build_report(result: TimingResult) -> Report:
    """Return the report of a timing run, with all keys of FIELDS."""
    code, machine = result.code, result.machine
    usage = usage_of(code)
    total = result.total_ns
    table = shares(code, usage)
    loads = _loads(result, usage)
    kinds, times = bytes_by_kind(code, usage), read_times(code, usage)
    counts = usage.counts
    flops = sum(row.flops for row in table)
    transposes = sum(row.transpose_flops for row in table)
    read, written = sum(row.read for row in table), sum(row.written for row in table)
    transfers = _transfer_fields(code, usage)
    peak_ns = sum(n * op.cost.peak_ns for op, n in zip(code.ops, counts, strict=True))
    dma_ns = transfers["dma_bytes"] / machine.dma_gbps
    busiest = max(loads, key=lambda name: loads[name])
    roofline = max(peak_ns, dma_ns, loads[busiest])
    check_roofline(roofline, total)
    losses = find_losses(result, usage, busiest)
    work = find_work(result, usage, busiest)
    idle = _idle_by_source(result, busiest, usage)
    rows = Rows(result, table, busiest, idle, losses, critical_path(result))
    spill = kinds.get("spill")
    report: Report = {
        "machine": machine.name,
        "total_time_us": total / 1e3,
        "launch_overhead_us": machine.program_overhead_ns / 1e3,
        "peak_bf16_tflops": machine.peak_flops_bf16 / 1e12,
        "hbm_peak_gbps": machine.hbm_gbps,
        "dma_sustained_gbps": machine.dma_gbps,
        "roofline_us": roofline / 1e3,
        "roofline_compute_us": peak_ns / 1e3,
        "roofline_dma_us": dma_ns / 1e3,
        "roofline_hbm_us": max(peak_ns, (read + written) / machine.hbm_gbps) / 1e3,
        "roofline_percent": percent(roofline, total),
        "bound_by": busiest if loads[busiest] >= total / 2 and total else "latency",
        "busiest_resource": busiest,
        "resource_us": {name: time / 1e3 for name, time in loads.items()},
        "mfu_estimated_percent": percent(flops, machine.peak_flops_bf16 * total / 1e9),
        "hfu_estimated_percent": percent(peak_ns, total),
        "mbu_estimated_percent": percent(read + written, machine.hbm_gbps * total),
    }
    report |= _engine_fields(code, usage, loads, total)
    report |= {
        "instruction_count": sum(counts),
        "walked_instruction_count": result.walked,
        "matmul_flops": flops,
        "transpose_flops": transposes,
        "transpose_us": _transpose_ns(code, usage) / 1e3,
        "hbm_read_bytes": read,
        "hbm_write_bytes": written,
        **{f"host_{kind}_bytes": _host_bytes(result.program, kind) for kind in _HOST_KINDS},
        "bytes_by_kind": {
            kind: {
                "read": kinds[kind].read,
                "written": kinds[kind].written,
                "read_times": times.get(kind, 0.0),
            }
            for kind in _KINDS
            if kind in kinds
        },
        "spill_save_bytes": spill.written if spill else 0,
        "spill_reload_bytes": spill.read if spill else 0,
        **transfers,
        "average_constant_row_size": _row_size(kinds.get("constant")),
        "port_stall_us": result.port_stall_ns / 1e3,
        "act_table_load_count": result.table_loads,
        "act_table_load_us": result.table_loads * machine.act_table_load_ns / 1e3,
        "barriers": result.barriers,
        "semaphore_count": code.semaphores,
        "cause": next(iter(rows.parts(sorted([*losses, *work], key=lambda p: -p.ns)[:1])), None),
        "losses": rows.parts(losses[:_TOP_LOSSES]),
        "work": rows.parts(work),
        "ops": rows.ops(),
        "groups": rows.groups(),
        "modules": rows.modules(),
        "loops": _loop_rows(result),
        "assumed_numbers": assumed_numbers(machine),
    }
    return report


def _host_bytes(program: Program, kind: str) -> int:
    """Return the bytes of all variables of a kind, which the host copies in each run."""
    return sum(variable.size for variable in program.variables if variable.kind == kind)


def _engine_fields(
    code: ProgramCode, usage: Usage, loads: Mapping[str, float], total: float
) -> Report:
    """Return the busy time of each engine, and its number of instructions."""
    names = ("tensor", "vector", "scalar", "gpsimd", "sync")
    fields: Report = {
        f"{name}_engine_active_time_percent": percent(loads[name], total) for name in names
    }
    fields["dma_active_time_percent"] = percent(loads["dma"], total)
    issued = dict.fromkeys(ENGINES.values(), 0)
    for op, n in zip(code.ops, usage.counts, strict=True):
        issued[ENGINES[op.instruction.stream]] += n
    return fields | {f"{name}_engine_instruction_count": n for name, n in issued.items()}


def _transfer_fields(code: ProgramCode, usage: Usage) -> Report:
    """Return transfers, their descriptors and their bytes."""
    found = [(op, n) for op, n in zip(code.ops, usage.counts, strict=True) if op.kind == TRANSFER]
    moved = sum(n * op.cost.bytes for op, n in found)
    descriptors = sum(n * op.cost.descriptors for op, n in found)
    count = sum(n for _, n in found)
    return {
        "dma_transfer_count": count,
        "dma_trigger_us": sum(n * op.cost.issue_ns for op, n in found) / 1e3,
        "dma_descriptor_count": descriptors,
        "dma_bytes": moved,
        "dma_ring_bytes": descriptors * code.machine.dma_descriptor_bytes,
        "average_dma_size": moved / count if count else 0.0,
        "average_descriptor_size": moved / descriptors if descriptors else 0.0,
    }


def busiest_ns(result: TimingResult) -> float:
    """Return the busy time of the busiest engine, port or group of queues, in ns."""
    return max(_loads(result, usage_of(result.code)).values())


def check_roofline(roofline_ns: float, total_ns: float) -> None:
    """Assert that nothing is faster than its roofline (except for rounding to ticks)."""
    if total_ns < roofline_ns * 0.999 - 1.0:
        raise AssertionError(
            f"the timing model is wrong: {total_ns} ns is less than the roofline of {roofline_ns}"
        )


def assumed_numbers(machine: Machine) -> list[str]:
    """Return the values of `machine` that are neither public, inferred nor fitted."""
    return sorted(
        name for name, text in machine.provenance.items() if text.split(":")[0] == "assumed"
    )


def _transpose_ns(code: ProgramCode, usage: Usage) -> float:
    """Return the time of the tensor engine in transposes."""
    return sum(
        n * op.cost.issue_ns
        for op, n in zip(code.ops, usage.counts, strict=True)
        if op.instruction.opcode == "transpose"
    )


def _row_size(traffic: Traffic | None) -> float:
    """Return the bytes that a descriptor reads of the constants."""
    if traffic is None or not traffic.read_descriptors:
        return 0.0
    return traffic.read / traffic.read_descriptors


def _loads(result: TimingResult, usage: Usage) -> dict[str, float]:
    """Return the load in ns of each resource over the run."""
    loads = dict.fromkeys(
        ("tensor", "vector", "scalar", "gpsimd", "sync", "dma", "psum_port", "sbuf_port"), 0.0
    )
    for op, count in zip(result.code.ops, usage.counts, strict=True):
        for name, time in resource_times(op, result.machine.dma_engines).items():
            if name in loads:
                loads[name] += count * time
    loads["scalar"] += result.table_loads * result.machine.act_table_load_ns
    return loads


def _idle_by_source(result: TimingResult, busiest: str, usage: Usage) -> dict[int, float]:
    """Return how many ns the busiest resource was idle before instructions of each source."""
    streams = waiting_streams(result, busiest, usage)
    found: dict[int, float] = {}
    for wait, ns in result.idle.sums().items():
        if wait.stream in streams:
            found[wait.source] = found.get(wait.source, 0.0) + ns
    return found


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
