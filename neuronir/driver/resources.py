"""How much data the constants of a module hold."""

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.hlo.attributes import HloResourceAttr
from neuronir.dialects.hlo.resources import lookup_lazy
from neuronir.dialects.support.walking import walk


def resource_bytes(module: ModuleOp) -> int:
    """Bytes of the resources that the ops of a module refer to, each counted once."""
    found: dict[str, int] = {}
    for op in walk(module):
        value = op.properties.get("value")
        if isinstance(value, HloResourceAttr):
            found[value.key.data] = lookup_lazy(value).nbytes
    return sum(found.values())
