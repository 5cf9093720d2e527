"""Report the time of a traced model: neuron-sim's report, and a table by module."""

from typing import Any

from neuronir.torch.interface import neuron_of
from neuronir.torch.loaded import loaded

_RESOURCES = ("tensor", "vector", "scalar", "gpsimd", "sync", "dma")


def report(traced: Any) -> dict[str, Any]:
    """Return the timing report of a traced model as a dictionary, with the fields of
    docs/report.md.
    """
    return loaded(neuron_of(traced).neff).executable.report()


def profile(traced: Any, depth: int = 4) -> str:
    """Return a table of one run by module (`encoder.layer.0`), down to `depth` names.

    `us` is the time of the engine that works longest on the module, `bound by` that engine, and
    `share` the module's part of the busiest engine's time over the whole run.
    """
    found = report(traced)
    times: dict[str, dict[str, float]] = {}
    shares: dict[str, float] = {}
    for row in found["ops"]:
        path = str(row["framework_op"]).rpartition("/")[0]
        name = ".".join(path.split(".")[:depth]) or "(no module)"
        own = times.setdefault(name, dict.fromkeys(_RESOURCES, 0.0))
        for resource in _RESOURCES:
            own[resource] += float(row[f"{resource}_us"])
        shares[name] = shares.get(name, 0.0) + float(row["share_percent"])
    width = max(map(len, ("module", *times)))
    lines = [
        f"{found['total_time_us']:.2f} us on {found['machine']}, "
        f"bound by {found['bound_by']}, roofline {found['roofline_percent']:.0f} %",
        "",
        f"{'module':<{width}}  {'us':>9}  {'bound by':<8}  {'share':>7}",
    ]
    for name in sorted(times, key=lambda n: (-shares[n], -max(times[n].values()), n)):
        most = max(_RESOURCES, key=lambda r: times[name][r])
        us, share = times[name][most], shares[name]
        lines.append(f"{name:<{width}}  {us:>9.2f}  {most:<8}  {share:>5.1f} %")
    return "\n".join(lines)
