"""Build the tables of a report: a row for each HLO op, group of ops, module path and loss."""

from collections.abc import Iterable, Sequence
from typing import Any

from neuronir.dialects.nc.instruction import Source
from neuronir.targets.simulator.attribution import OpShare, group_names, members_of, merged
from neuronir.targets.simulator.parts import Part
from neuronir.targets.simulator.timing import TimingResult

Report = dict[str, Any]

TIMES = ("tensor", "vector", "scalar", "gpsimd", "sync", "dma")
"""Resources for which ops have times: `<name>_us` of a row."""

_SUMS = (
    *(f"{name}_us" for name in TIMES),
    "instructions",
    "flops",
    "useful_flops",
    "transpose_flops",
    "hbm_read_bytes",
    "hbm_write_bytes",
    "transfers",
    "descriptors",
    "share_percent",
    "idle_us",
)


class Rows:
    """Builds the tables of one run.

    `table` has the costs by source, `idle` the ns for which the busiest resource was idle before
    instructions of a source, `losses` all its losses, largest first, and `path` the ns of the
    critical path by source if the run was recorded.
    """

    def __init__(
        self,
        result: TimingResult,
        table: list[OpShare],
        busiest: str,
        idle: dict[int, float],
        losses: Sequence[Part],
        path: dict[int, float] | None,
    ) -> None:
        self._sources = result.program.sources
        self._total = result.total_ns
        self._table = table
        self._busiest = busiest
        self._idle = idle
        self._losses = losses
        self._path = path
        self._whole = sum(row.time_ns.get(busiest, 0.0) for row in table)
        self._groups = group_names(self._sources)

    def ops(self) -> list[Report]:
        """Return a row for each HLO op that has instructions, the largest share first."""
        rows = []
        for numbers, row in merged(self._table, self._name):
            source = max((self._sources[n] for n in self._known(numbers)), key=_said, default=None)
            rows.append(
                {
                    "name": source.name if source else "",
                    "opcode": source.opcode if source else "",
                    "framework_op": source.framework if source else "",
                    "source": f"{source.file}:{source.line}" if source and source.file else "",
                    **self._share(row),
                    "useful_flops": source.flops if source else 0,
                    "idle_us": self._idle_us(numbers),
                    "path_us": self._path_us(numbers),
                    **self._worst_loss(numbers),
                    "group": members_of(self._groups.get(source.name, ""))[0] if source else "",
                }
            )
        rows.sort(key=_rank)
        return rows

    def groups(self) -> list[Report]:
        """Return a row for each group of ops that were lowered together."""
        useful = {source.name: source.flops for source in sorted(self._sources, key=_said)}
        rows = []
        for numbers, row in merged(self._table, lambda n: self._groups.get(self._name(n), "")):
            held = [self._sources[n].name for n in self._known(numbers)]
            label = self._groups.get(held[0], "") if held else ""
            members = list(dict.fromkeys([*members_of(label), *held]))
            rows.append(
                {
                    "name": members[0],
                    "ops": members,
                    **self._share(row),
                    "useful_flops": sum(useful.get(name, 0) for name in members),
                    "idle_us": self._idle_us(numbers),
                    "path_us": self._path_us(numbers),
                }
            )
        rows.sort(key=_rank)
        return rows

    def modules(self) -> list[Report]:
        """Return a row for each module path of the framework's ops, in path order."""
        found: dict[tuple[str, ...], list[Report]] = {}
        for row in self.ops():
            path = module_path(row["framework_op"])
            for depth in range(1, len(path) + 1):
                found.setdefault(path[:depth], []).append(row)
        rows = []
        for path in sorted(found):
            held = found[path]
            sums: Report = {key: sum(row[key] for row in held) for key in _SUMS}
            bound = max(TIMES, key=lambda name: sums[f"{name}_us"])
            sums["path_us"] = None
            if self._path is not None:
                sums["path_us"] = sum(row["path_us"] for row in held)
            pieces = [row for row in held if row["descriptors"]]
            moved = sum(row["bytes_per_descriptor"] * row["descriptors"] for row in pieces)
            sums["bytes_per_descriptor"] = moved / sums["descriptors"] if pieces else None
            lead = {"name": "/".join(path), "depth": len(path), "ops": len(held)}
            rows.append({**lead, **sums, "bound": bound})
        return rows

    def parts(self, parts: Sequence[Part]) -> list[Report]:
        """Return rows of parts of the time of the busiest resource."""
        return [
            {
                "us": part.ns / 1e3,
                "percent": percent(part.ns, self._total),
                "what": part.what,
                "advice": part.advice,
                "worst_op": self._name(part.worst()),
                "ops": len(part.by_source),
            }
            for part in parts
        ]

    def _worst_loss(self, numbers: Iterable[int]) -> Report:
        """Return the largest loss of the busiest resource in some sources."""
        best, ns = None, 0.0
        for loss in self._losses:
            part = sum(loss.by_source.get(n, 0.0) for n in numbers)
            if part > ns:
                best, ns = loss, part
        return {
            "loss_us": ns / 1e3,
            "loss": best.what if best else "",
            "advice": best.advice if best else "",
        }

    def _share(self, row: OpShare) -> Report:
        """Return the columns common to ops and groups."""
        bound = max(TIMES, key=lambda name: row.time_ns.get(name, 0.0))
        moved, longest = row.read + row.written, row.time_ns.get(bound, 0.0)
        return {
            **{f"{name}_us": row.time_ns.get(name, 0.0) / 1e3 for name in TIMES},
            "instructions": row.instructions,
            "flops": row.flops,
            "transpose_flops": row.transpose_flops,
            "hbm_read_bytes": row.read,
            "hbm_write_bytes": row.written,
            "transfers": row.transfers,
            "descriptors": row.descriptors,
            "share_percent": percent(row.time_ns.get(self._busiest, 0.0), self._whole),
            "bound": bound,
            "flops_per_hbm_byte": row.flops / moved if moved else None,
            "bytes_per_descriptor": row.moved / row.descriptors if row.descriptors else None,
            "attained_tflops": row.flops / longest / 1e3 if longest else 0.0,
        }

    def _known(self, numbers: Iterable[int]) -> list[int]:
        return [n for n in numbers if n < len(self._sources)]

    def _name(self, number: int) -> str:
        return self._sources[number].name if number < len(self._sources) else ""

    def _idle_us(self, numbers: Iterable[int]) -> float:
        return sum(self._idle.get(n, 0.0) for n in numbers) / 1e3

    def _path_us(self, numbers: Iterable[int]) -> float | None:
        if self._path is None:
            return None
        return sum(self._path.get(n, 0.0) for n in numbers) / 1e3


def module_path(framework_op: str) -> tuple[str, ...]:
    """Return the modules around a framework's op: its path split at "/" (without the op) and at
    ".".

    Text in brackets is not split: `jit(f)/transpose(jvp(a/b))/dot` has two modules.
    """
    modules = _split(framework_op, "/")[:-1]
    return tuple(part for module in modules for part in _split(module, ".") if part)


def _split(text: str, at: str) -> list[str]:
    """Split `text` at each letter `at` outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == at and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def percent(part: float, whole: float) -> float:
    """Return `part` in percent of `whole`; 0 if that is 0."""
    return 100.0 * part / whole if whole else 0.0


def _said(source: Source) -> tuple[bool, bool, int]:
    """Return the more informative of two sources with one name."""
    return (bool(source.opcode), bool(source.framework), source.flops)


def _rank(row: Report) -> tuple[float, float]:
    times = sum(float(row[f"{n}_us"]) for n in TIMES)
    return (-float(row["share_percent"]), -times)
