"""Find the parts of a model that cannot be imported before anything is built."""

from collections.abc import Iterable, Iterator

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.models import Use, describe
from neuronir.frontends.tensorflow.graph import Library, Node, Table
from neuronir.frontends.tensorflow.model import Model
from neuronir.frontends.tensorflow.registry import WRITES, why_not


def operators_used(model: Model) -> list[Use]:
    """Return the operators of the compiled nodes and of the functions that they call, by name."""
    uses: dict[str, Use] = {}
    given = model.given
    for node in _walk(model.needed(), model.table, model.library, set()):
        if node.op == "_Arg" or node.op in model.library or node.name in given:
            continue
        use = uses.setdefault(node.op, Use(node.op, reason=why_not(node.op)))
        use.count += 1
        use.nodes.append(node.name)
    return [uses[name] for name in sorted(uses)]


def _walk(
    nodes: Iterable[Node], table: Table, library: Library, called: set[str]
) -> Iterator[Node]:
    """Yield nodes, the nodes of each called function once, and nodes that write variables.

    The writes are included because the results of a function do not depend on its side effects.
    """
    listed = list(nodes)
    names = {node.name for node in listed}
    yield from listed
    for node in table.reachable(names):
        if node.op in WRITES and node.name not in names:
            yield node
    for node in listed:
        for name in _functions_of(node, library):
            if name not in called:
                called.add(name)
                function = library.get(name)
                body = function.table
                inner = body.reachable((ref[0] for ref in function.results), control=False)
                inside = {n.name for n in inner}
                yield from (n for n in body if n.op in WRITES and n.name not in inside)
                yield from _walk(inner, body, library, called)


def _functions_of(node: Node, library: Library) -> list[str]:
    found = [node.op] if node.op in library else []
    for name in sorted(node.attrs):
        value = node.attrs[name]
        kind = value.WhichOneof("value")
        if kind == "func":
            found.append(value.func.name)
        elif kind == "list":
            found += [func.name for func in value.list.func]
    return [name for name in found if name in library]


def check_supported(model: Model) -> None:
    """Raise NCC_EUOC002 with all operators that cannot be imported, and the reasons."""
    bad = [use for use in operators_used(model) if use.reason is not None]
    if not bad:
        return
    lines = [f"  {line}" for line in describe(bad)]
    noun = "operator is" if len(bad) == 1 else "operators are"
    raise NeuronError(
        "NCC_EUOC002",
        f"{len(bad)} {noun} not supported:\n" + "\n".join(lines),
        location=model.file,
        help="neuronx-cc list-operators --framework TENSORFLOW prints the supported operators",
    )
