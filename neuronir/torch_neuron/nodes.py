"""Describe operators for `subgraph_builder_function`."""

from dataclasses import dataclass
from typing import Any

from neuronir.torch.support import kind_of


@dataclass(frozen=True)
class Node:
    """An operator of the model.

    `kind` is `aten::add` and the like, `name` the modules that it belongs to, from the outermost,
    and its kind: `Model/ExampleConvolutionLayer[layer]/Conv2d[conv]/aten::conv2d`. A module in
    brackets is its name in the module around it.
    """

    name: str
    kind: str


def node_of(node: Any) -> Node:
    """Return the description of a node of an exported graph."""
    kind = kind_of(node)
    parts = []
    before = ""
    for path, class_ in (node.meta.get("nn_module_stack") or {}).values():
        own = str(path).removeprefix(before).lstrip(".")
        name = str(class_ if isinstance(class_, str) else class_.__name__).rpartition(".")[2]
        parts.append(f"{name}[{own}]" if own else name)
        before = str(path)
    return Node("/".join([*parts, kind]), kind)
