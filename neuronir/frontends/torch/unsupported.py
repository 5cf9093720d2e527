"""Check which operators of a model can be imported, before anything is built."""

from collections.abc import Iterator
from typing import Any

import torch

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.models import Use
from neuronir.frontends.torch.locations import module_path, source_line
from neuronir.frontends.torch.registry import BY_DATA, OPERATORS, why_not

_SIZES = ("aten._assert_scalar.default", "aten.sym_constrain_range_for_size.default")


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
    nodes = list(nodes_of(program))
    # torch computes with a size that data determines, and checks it: that explains nothing.
    sizes = {node for node in nodes if _of_sizes(node)}
    by_data = {node for node in nodes if sizes and _dynamic(node)}
    for node in nodes:
        if by_data and node in sizes:
            continue
        name = operator_name(node)
        use = uses.setdefault(name, Use(name))
        use.count += 1
        use.nodes.append(place_of(node))
        use.reason = use.reason or (BY_DATA if node in by_data else why_not(name))
    return [uses[name] for name in sorted(uses)]


def _of_sizes(node: Any) -> bool:
    """Return whether a node computes with sizes, or checks them."""
    return not isinstance(node.target, torch._ops.OpOverload) or operator_name(node) in _SIZES


def _dynamic(node: Any) -> bool:
    """Return whether a result of an operator has a shape that data determines."""
    found = node.meta.get("val")
    results = found if isinstance(found, (list, tuple)) else [found]
    tensors = [t for t in results if isinstance(t, torch.Tensor)]
    return not all(isinstance(size, int) for t in tensors for size in t.shape)


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
