"""Compare two compiles by source op: which ops became faster or slower.

The time of an op is its time on the critical path of its run (critical.py). These times add up to
the total time, so the differences of the ops add up to the difference of the totals, whatever the
bottlenecks are.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from neuronir.dialects.nc.instruction import Program
from neuronir.targets.simulator.report_rows import TIMES, Report

_FIGURES = (
    ("instructions", "instruction_count"),
    ("transfers", "dma_transfer_count"),
    ("descriptors", "dma_descriptor_count"),
    ("bytes a descriptor", "average_descriptor_size"),
    ("matmul FLOP", "matmul_flops"),
    ("transpose FLOP", "transpose_flops"),
    ("HBM bytes read", "hbm_read_bytes"),
    ("HBM bytes written", "hbm_write_bytes"),
    ("spill bytes saved", "spill_save_bytes"),
    ("spill bytes reloaded", "spill_reload_bytes"),
)


@dataclass(frozen=True)
class Side:
    """One compile: its program and the report of its recorded run."""

    program: Program
    report: Report


@dataclass
class Unit:
    """Ops that are compared as a unit.

    A unit is an op, or several ops if one compile fused them and the other did not. `a` and `b` are
    rows of the two reports.
    """

    a: list[Report] = field(default_factory=list)
    b: list[Report] = field(default_factory=list)


def compare_reports(a: Side, b: Side) -> Report:
    """Return the differences between two runs: totals, resources, bytes by kind, and a row for each
    unit.

    Rows are sorted by difference, largest first. `matched_by` says how ops were matched.
    """
    by_name = _same_ops(a, b)
    names = {row["name"]: row["name"] for row in b.report["ops"]} if by_name else _aligned(a, b)
    units = _units(a.report, b.report, names)
    rows = [_row(unit) for unit in units]
    rows.sort(key=lambda row: (-abs(row["change_us"]), row["name"]))
    totals = _pair(a.report["total_time_us"], b.report["total_time_us"])
    return {
        "total_time_us": totals,
        "bound_by": [a.report["bound_by"], b.report["bound_by"]],
        "resource_us": {
            name: _pair(time, b.report["resource_us"][name])
            for name, time in a.report["resource_us"].items()
        },
        "figures": {label: _pair(a.report[key], b.report[key]) for label, key in _FIGURES},
        "bytes_by_kind": _kinds(a.report, b.report),
        "matched_by": "name" if by_name else "order",
        "ops": [row for row in rows if not row["only"]],
        "only_a": [row for row in rows if row["only"] == "a"],
        "only_b": [row for row in rows if row["only"] == "b"],
    }


def _pair(a: float, b: float) -> list[float]:
    """Return [a, b, b - a]."""
    return [a, b, b - a]


def _kinds(a: Report, b: Report) -> Report:
    """Return bytes by kind of variable: [a, b, difference] of read and written."""
    none = {"read": 0, "written": 0}
    kinds = dict.fromkeys([*a["bytes_by_kind"], *b["bytes_by_kind"]])
    return {
        kind: {
            key: _pair(
                a["bytes_by_kind"].get(kind, none)[key], b["bytes_by_kind"].get(kind, none)[key]
            )
            for key in none
        }
        for kind in kinds
    }


def _same_ops(a: Side, b: Side) -> bool:
    """Return whether a name refers to the same op in both.

    This holds if they were made from one model, or have all names in common.
    """
    inputs = [s.program.metadata.get("input_sha256", "") for s in (a, b)]
    if inputs[0] and inputs[0] == inputs[1]:
        return True
    named = [{(row["name"], row["opcode"]) for row in s.report["ops"]} for s in (a, b)]
    return named[0] == named[1]


def _aligned(a: Side, b: Side) -> dict[str, str]:
    """Return the op of `a` for each matching op of `b`, for programs with different op numbers.

    Ops with equal opcode, framework op and FLOPs, and equal name except for the number, are aligned
    in program order, like lines of text. The remaining ops are matched by name and opcode, then by
    similarity, in order.
    """
    rows_a, rows_b = _in_order(a), _in_order(b)
    keys = [[_alike(row) for row in rows] for rows in (rows_a, rows_b)]
    found: dict[str, str] = {}
    for block in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_matching_blocks():
        for i in range(block.size):
            found[rows_b[block.b + i]["name"]] = rows_a[block.a + i]["name"]
    for key in (lambda row: (row["name"], row["opcode"]), _alike):
        taken = set(found.values())
        left: dict[object, list[str]] = {}
        for row in rows_a:
            if row["name"] not in taken:
                left.setdefault(key(row), []).append(row["name"])
        for row in rows_b:
            if row["name"] not in found and left.get(key(row)):
                found[row["name"]] = left[key(row)].pop(0)
    return found


def _alike(row: Report) -> tuple[str, str, str, int]:
    """Return a key that two equal ops share, whatever their numbers."""
    stem = re.sub(r"[.\d]+$", "", row["name"])
    return (stem, row["opcode"], row["framework_op"], row["useful_flops"])


def _in_order(side: Side) -> list[Report]:
    """Return the rows of a report in the order of the program's source map."""
    rows = {row["name"]: row for row in side.report["ops"]}
    order = dict.fromkeys(source.name for source in side.program.sources)
    return [rows[name] for name in (*order, *rows) if name in rows and order.pop(name, 0) is None]


def _units(a: Report, b: Report, names: dict[str, str]) -> list[Unit]:
    """Match rows of both reports; `names` has the op of `a` for ops of `b`.

    An op that has time in one compile only, and belongs to a group in the other, has moved into
    that group: it is compared together with the group's main op.
    """
    rows_a = {("", row["name"]): row for row in a["ops"]}
    rows_b = {_key(row["name"], names): row for row in b["ops"]}
    leader = {key: key for key in (*rows_a, *rows_b)}

    def root(key: tuple[str, str]) -> tuple[str, str]:
        while leader[key] != key:
            key = leader[key]
        return key

    for mine, theirs in (
        (rows_a, _homes(b["groups"], names)),
        (rows_b, _homes(a["groups"], None)),
    ):
        other = rows_b if mine is rows_a else rows_a
        for key in mine:
            homes = theirs.get(key, [])
            if key not in other and len(homes) == 1 and homes[0] in other:
                leader[root(key)] = root(homes[0])
    units: dict[tuple[str, str], Unit] = {}
    for key in leader:
        unit = units.setdefault(root(key), Unit())
        if key in rows_a:
            unit.a.append(rows_a[key])
        if key in rows_b:
            unit.b.append(rows_b[key])
    return list(units.values())


def _key(name: str, names: dict[str, str]) -> tuple[str, str]:
    """Return an op of `b` by its name in `a` if it has one."""
    return ("", names[name]) if name in names else ("b", name)


def _homes(
    groups: Sequence[Report], names: dict[str, str] | None
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the main ops of the groups to which an op belongs, by op.

    A member without a time of its own has no row to match, so it is matched by name.
    """
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for group in groups:
        home = ("", group["name"]) if names is None else _key(group["name"], names)
        for name in group["ops"][1:]:
            known = names is not None and name in names
            key = ("", names[name]) if names is not None and known else ("", name)
            found.setdefault(key, []).append(home)
    return found


def _path_us(rows: Iterable[Report]) -> float:
    return float(sum(row["path_us"] for row in rows))


def _row(unit: Unit) -> Report:
    """Return a unit as a row: names, its times in the two runs, and the work of each resource."""
    both = [*unit.a, *unit.b]
    main = max(both, key=lambda row: max(row[f"{name}_us"] for name in TIMES))
    name = main["name"]
    if unit.a and unit.b and name not in {row["name"] for row in unit.a}:
        # Ops have their names in `a` if possible.
        name = max(unit.a, key=lambda row: max(row[f"{n}_us"] for n in TIMES))["name"]
    times = [_path_us(unit.a), _path_us(unit.b)]
    row: Report = {
        "name": name,
        "opcode": main["opcode"],
        "framework_op": main["framework_op"],
        "source": main["source"],
        "ops_a": [r["name"] for r in unit.a],
        "ops_b": [r["name"] for r in unit.b],
        "a_us": times[0],
        "b_us": times[1],
        "change_us": times[1] - times[0],
        "only": "" if unit.a and unit.b else "a" if unit.a else "b",
    }
    for key in (*(f"{name}_us" for name in TIMES), "hbm_read_bytes", "hbm_write_bytes"):
        row[key] = _pair(sum(r[key] for r in unit.a), sum(r[key] for r in unit.b))
    return row
