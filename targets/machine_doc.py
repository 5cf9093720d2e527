"""Print the table of a machine description for docs/machine-<name>.md."""

from collections.abc import Mapping
from dataclasses import fields

from neuronir.dialects.nc.machine import Machine


def machine_markdown(machine: Machine) -> str:
    """Return a markdown table of every value of `machine` with its class and provenance."""
    lines = ["| number | value | class | where from |", "|---|---|---|---|"]
    for field in fields(machine):
        if field.name in machine.provenance:
            kind, _, text = machine.provenance[field.name].partition(":")
            value = _value(getattr(machine, field.name))
            lines.append(f"| `{field.name}` | {value} | {kind} | {text.strip()} |")
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(str, value)))
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_value(item)}" for key, item in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
