"""Format the differences between two compiles as text."""

from collections.abc import Sequence

from neuronir.targets.simulator.report_rows import TIMES, Report
from neuronir.targets.simulator.summary import size_text, time_text

_LEAST_US = 0.005
"""Times that print as 0.00 count as no difference."""


def diff_text(found: Report, names: tuple[str, str], top: int = 15) -> str:
    """Format the result of `compare_reports`.

    There are at most `top` slower ops, faster ops, and ops in one compile only. `names` are the two
    files.
    """
    total = found["total_time_us"]
    lines = [f"a: {names[0]}", f"b: {names[1]}", ""]
    lines.append(f"total     {_change(total)}   {verdict(total)}")
    lines.append(f"bound by  {found['bound_by'][0]} -> {found['bound_by'][1]}")
    lines += ["", f"  {'load, us':<21} {'a':>13} {'b':>13} {'change':>13}"]
    for name, values in found["resource_us"].items():
        if any(values):
            lines.append(
                f"  {name:<21} {values[0]:13,.2f} {values[1]:13,.2f} {signed(values[2]):>13}"
            )
    lines += ["", f"  {'figure':<21} {'a':>13} {'b':>13} {'change':>13}"]
    for label, values in found["figures"].items():
        if any(values):
            lines.append("  " + _figure(label, values))
    for kind, row in found["bytes_by_kind"].items():
        for key, values in row.items():
            if any(values):
                lines.append("  " + _figure(f"{kind} bytes {key}", values))
    lines += ["", "  time of source ops on the critical path, us; changes of their work"]
    slower = [row for row in found["ops"] if row["change_us"] >= _LEAST_US]
    faster = [row for row in found["ops"] if row["change_us"] <= -_LEAST_US]
    lines += _rows("slower", slower, top) + _rows("faster", faster, top)
    same = len(found["ops"]) - len(slower) - len(faster)
    lines.append(f"  the same: {same} ops")
    lines += _rows("only in a", found["only_a"], top) + _rows("only in b", found["only_b"], top)
    if found["matched_by"] == "order":
        lines.append("  the two models differ: ops were matched by kind, in program order")
    return "\n".join(lines) + "\n"


def verdict(total: Sequence[float]) -> str:
    """Return faster or slower, and by which fraction of `a`."""
    a, b, change = total
    if abs(change) < _LEAST_US or not a:
        return "the same"
    return f"{abs(change) / a:.1%} {'faster' if b < a else 'slower'}"


def signed(value: float) -> str:
    """Format a time in us with its sign; never -0.00."""
    return f"{round(value, 2) + 0.0:+,.2f}"


def _change(values: Sequence[float]) -> str:
    sign = "-" if values[2] < 0 else "+"
    return f"{time_text(values[0])} -> {time_text(values[1])} ({sign}{time_text(abs(values[2]))})"


def _figure(label: str, values: Sequence[float]) -> str:
    if "bytes" in label.lower():
        sign = "-" if values[2] < 0 else "+"
        texts = [size_text(values[0]), size_text(values[1]), sign + size_text(abs(values[2]))]
    else:
        texts = [f"{values[0]:,.0f}", f"{values[1]:,.0f}", f"{values[2]:+,.0f}"]
    return f"{label:<21} " + " ".join(f"{text:>13}" for text in texts)


def _rows(title: str, rows: Sequence[Report], top: int) -> list[str]:
    if not rows:
        return []
    lines = [f"  {title}", f"  {'change':>10} {'a':>10} {'b':>10}"]
    for row in rows[:top]:
        lead = f"  {signed(row['change_us']):>10} {row['a_us']:10,.2f} {row['b_us']:10,.2f}"
        lines.append(f"{lead}  {unit_text(row)}{resources_text(row)}")
    if len(rows) > top:
        rest = sum(row["change_us"] for row in rows[top:])
        lines.append(f"  {signed(rest):>10} {'':10} {'':10}  {len(rows) - top} more")
    return lines


def unit_text(row: Report) -> str:
    """Return the op of a row, and further ops of one compile."""
    text = row["name"] or "without a name"
    if row["opcode"]:
        text += f" ({row['opcode']})"
    if not row["only"]:
        held = [sorted({*row[key]} - {row["name"]}) for key in ("ops_a", "ops_b")]
        extra = [
            f"{', '.join(names)} in {side}" for names, side in zip(held, "ab", strict=True) if names
        ]
        if len(row["ops_a"]) != 1 or len(row["ops_b"]) != 1:
            text += f" with {' and '.join(extra)}"
        elif row["ops_a"] != row["ops_b"]:
            text += f" = {row['ops_b'][0]}"
    return text


def resources_text(row: Report) -> str:
    """Return the changes of the resources' work and of the bytes, if any."""
    parts = [
        f"{name} {signed(row[f'{name}_us'][2])}"
        for name in TIMES
        if abs(row[f"{name}_us"][2]) >= _LEAST_US
    ]
    moved = row["hbm_read_bytes"][2] + row["hbm_write_bytes"][2]
    if moved:
        parts.append(f"HBM {'+' if moved > 0 else '-'}{size_text(abs(moved))}")
    return f": {', '.join(parts)}" if parts else ""
