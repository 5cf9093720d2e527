"""Analyse the structure of graphs: node order, and outer names that a subgraph reads."""

from collections.abc import Iterable, Iterator

import onnx
from onnx import AttributeProto

from neuronir.dialects.support.errors import NeuronError


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Return the graphs among a node's attributes."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def node_name(node: onnx.NodeProto) -> str:
    """Return the name of a node: its own, else that of its first result."""
    return str(node.name or next((o for o in node.output if o), node.op_type))


def free_names(graph: onnx.GraphProto) -> list[str]:
    """Return names that a graph reads and does not define, in the order of first use."""
    defined = {value.name for value in graph.input}
    defined |= {tensor.name for tensor in graph.initializer}
    free: dict[str, None] = {}
    for node in ordered(graph.node, None):
        read = [*node.input, *(name for inner in subgraphs(node) for name in free_names(inner))]
        free.update((name, None) for name in read if name and name not in defined)
        defined.update(node.output)
    free.update((value.name, None) for value in graph.output if value.name not in defined)
    return list(free)


def ordered(nodes: Iterable[onnx.NodeProto], where: str | None) -> list[onnx.NodeProto]:
    """Sort nodes so that each follows the nodes whose results it reads.

    Raises NIR_ONNX008 for a cycle or a name that two nodes define. The sort is stable.
    """
    listed: list[onnx.NodeProto] = list(nodes)
    maker: dict[str, int] = {}
    for i, node in enumerate(listed):
        for output in node.output:
            if output and output in maker:
                raise NeuronError(
                    "NIR_ONNX008",
                    f"'{output}' is defined twice, by nodes '{node_name(listed[maker[output]])}' "
                    f"and '{node_name(node)}'",
                    location=where,
                )
            if output:
                maker[output] = i
    reads = [_reads(node) for node in listed]
    if all(maker.get(name, -1) < i for i, names in enumerate(reads) for name in names):
        return listed
    return [listed[i] for i in _sorted(listed, reads, maker, where)]


def _reads(node: onnx.NodeProto) -> list[str]:
    inner = [name for graph in subgraphs(node) for name in free_names(graph)]
    return [name for name in (*node.input, *inner) if name]


def _sorted(
    listed: list[onnx.NodeProto],
    reads: list[list[str]],
    maker: dict[str, int],
    where: str | None,
) -> list[int]:
    order: list[int] = []
    state = [0] * len(listed)  # 0 not visited, 1 in progress, 2 done
    for start in range(len(listed)):
        stack = [start]
        while stack:
            top = stack[-1]
            if state[top] == 0:
                state[top] = 1
                needed = [maker[name] for name in reads[top] if name in maker]
                if any(state[i] == 1 for i in needed):
                    raise NeuronError(
                        "NIR_ONNX008",
                        f"the graph has a cycle through node '{node_name(listed[top])}'",
                        location=where,
                    )
                stack.extend(i for i in reversed(needed) if state[i] == 0)
                continue
            stack.pop()
            if state[top] == 1:
                state[top] = 2
                order.append(top)
    return order
