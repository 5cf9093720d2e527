"""Check which operators of a model can be imported, before anything is built."""

from collections.abc import Iterator
from typing import Any

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.models import Use
from neuronir.frontends.torch.locations import module_path, source_line
from neuronir.frontends.torch.registry import OPERATORS, why_not


def operator_name(node: Any) -> str:
    """Return names such as `aten.add.Tensor`."""
    return str(node.target)


def nodes_of(program: Any) -> Iterator[Any]:
    """Return the nodes of a program that are operators."""
    for node in program.graph.nodes:
        if node.op == "call_function" and operator_name(node) != "<built-in function getitem>":
            yield node


def operators_used(program: Any) -> list[Use]:
    """Return the operators of an exported program, sorted by name."""
    uses: dict[str, Use] = {}
    for node in nodes_of(program):
        name = operator_name(node)
        use = uses.setdefault(name, Use(name))
        use.count += 1
        use.nodes.append(place_of(node))
        use.reason = use.reason or why_not(name)
    return [uses[name] for name in sorted(uses)]


def place_of(node: Any) -> str:
    """Describe the location of a node: the module's path and the line."""
    path, line = module_path(node), source_line(node)
    where = [path] if path else []
    if line is not None:
        where.append(f"{line.file}:{line.line}")
    return ", ".join(where) or str(node.name)


def check_supported(program: Any) -> None:
    """Raise NCC_EUOC002 with all operators that cannot be imported, their locations and reasons."""
    bad = [use for use in operators_used(program) if use.reason is not None]
    if not bad:
        return
    lines = []
    for use in bad:
        more = f" and {use.count - 1} more" if use.count > 1 else ""
        lines.append(f"  {use.name} ({use.nodes[0]}{more}): {use.reason}")
    noun = "operator is" if len(bad) == 1 else "operators are"
    first = next(n for n in nodes_of(program) if operator_name(n) == bad[0].name)
    raise NeuronError(
        "NCC_EUOC002",
        f"{len(bad)} {noun} not supported:\n" + "\n".join(lines),
        location=source_line(first),
        help="neuronx-cc list-operators --framework PYTORCH prints the supported operators",
    )


def importable() -> list[str]:
    """Return the names of all operators that can be imported, sorted."""
    return sorted(
        name.replace(".", "::", 1) if name.startswith("prims.") else f"aten::{name}"
        for name in OPERATORS
    )
