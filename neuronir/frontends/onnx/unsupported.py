"""Find the parts of a model that cannot be imported before the import starts."""

from collections.abc import Iterator

import onnx

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.models import Use, describe
from neuronir.frontends.onnx.functions import FunctionKey, has_schema_function, model_functions
from neuronir.frontends.onnx.graphs import free_names, node_name, ordered, subgraphs
from neuronir.frontends.onnx.refused import DATA, DATA_DEPENDENT
from neuronir.frontends.onnx.registry import OPERATORS, REFUSED, find, plain_domain

NOT_SUPPORTED = "it is not supported"
"""The reason for an operator that is merely not implemented."""


def operators_used(model: onnx.ModelProto) -> list[Use]:
    """Return the operators of a model, its functions and subgraphs, sorted by name."""
    opsets = {plain_domain(o.domain): int(o.version) for o in model.opset_import}
    functions = model_functions(model)
    uses: dict[str, Use] = {}
    called: set[FunctionKey] = set()
    for node, versions in _walk(model.graph, opsets, functions, called):
        domain = plain_domain(node.domain)
        name = f"{domain}.{node.op_type}" if domain else str(node.op_type)
        use = uses.setdefault(name, Use(name))
        use.count += 1
        use.nodes.append(node_name(node))
        use.reason = use.reason or why_not(str(node.op_type), domain, versions.get(domain, 1))
    for name in _shaped_by_data(model.graph):
        uses[name].reason = uses[name].reason or DATA
    return [uses[name] for name in sorted(uses)]


def _shaped_by_data(graph: onnx.GraphProto) -> Iterator[str]:
    """Return operators of the main graph whose result shape depends on the data of inputs.

    Shape and Size end the dependence, because their results depend on shapes only.
    """
    initialised = {t.name for t in graph.initializer}
    data = {value.name for value in graph.input if value.name not in initialised}
    for node in ordered(graph.node, None):
        if node.op_type in ("Shape", "Size"):
            continue
        inner = [name for sub in subgraphs(node) for name in free_names(sub)]
        if any(name in data for name in (*node.input, *inner)):
            data.update(name for name in node.output if name)
        decides = DATA_DEPENDENT.get(node.op_type)
        if decides is not None and not node.domain:
            if any(name in data for name in list(node.input)[decides]):
                yield str(node.op_type)


def _walk(
    graph: onnx.GraphProto | onnx.FunctionProto,
    opsets: dict[str, int],
    functions: dict[FunctionKey, onnx.FunctionProto],
    called: set[FunctionKey],
) -> Iterator[tuple[onnx.NodeProto, dict[str, int]]]:
    """Yield nodes with their opsets; the body of a function counts once."""
    for node in graph.node:
        key = (node.domain, node.op_type, node.overload)
        function = functions.get(key)
        if function is None:
            yield node, opsets
        elif key not in called:
            called.add(key)
            own = {plain_domain(o.domain): int(o.version) for o in function.opset_import}
            yield from _walk(function, {**opsets, **own}, functions, called)
        for inner in subgraphs(node):
            yield from _walk(inner, opsets, functions, called)


def why_not(name: str, domain: str, version: int) -> str | None:
    """Return why an operator cannot be imported, or None if it can."""
    if find(domain, name, version) is not None:
        return None
    reason = REFUSED.get((domain, name))
    if reason is not None:
        return reason
    if has_schema_function(name, domain, version):
        return None
    if (domain, name) in OPERATORS:
        return f"opset {version} has no such operator"
    if domain and domain not in ("ai.onnx.ml", "ai.onnx.preview.training"):
        return f"the domain '{domain}' is not known"
    return NOT_SUPPORTED


def check_supported(model: onnx.ModelProto, name: str) -> None:
    """Raise NCC_EUOC002 with all operators that cannot be imported, and the reasons."""
    bad = [use for use in operators_used(model) if use.reason is not None]
    if not bad:
        return
    lines = [f"  {line}" for line in describe(bad)]
    noun = "operator is" if len(bad) == 1 else "operators are"
    raise NeuronError(
        "NCC_EUOC002",
        f"{len(bad)} {noun} not supported:\n" + "\n".join(lines),
        location=name,
        help="neuronx-cc list-operators --framework ONNX prints the supported operators",
    )


def importable() -> list[str]:
    """Return the sorted names of all operators that can be imported, with domains except ONNX's
    own.
    """
    names = {f"{domain}.{name}" if domain else name for domain, name in OPERATORS}
    for schema in onnx.defs.get_all_schemas():
        domain = plain_domain(schema.domain)
        if schema.deprecated or (domain, schema.name) in REFUSED:
            continue
        if has_schema_function(schema.name, domain, schema.since_version):
            names.add(f"{domain}.{schema.name}" if domain else schema.name)
    return sorted(names)
