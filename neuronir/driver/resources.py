"""Compute the size of a module's constants."""

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.hlo.attributes import HloResourceAttr
from neuronir.dialects.hlo.resources import lookup_lazy
from neuronir.dialects.support.walking import walk


def resource_bytes(module: ModuleOp) -> int:
    """Return the bytes of the resources to which a module refers, each counted once."""
    found: dict[str, int] = {}
    for op in walk(module):
        value = op.properties.get("value")
        if isinstance(value, HloResourceAttr):
            found[value.key.data] = lookup_lazy(value).nbytes
    return sum(found.values())
