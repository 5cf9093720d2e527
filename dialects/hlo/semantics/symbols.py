"""Find the function that a call runs."""

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from neuronir.dialects.hlo.semantics.registry import unsupported


def callee_of(op: Operation) -> FuncOp:
    """Return the function named by the `callee` property of a call."""
    name = op.properties["callee"]
    assert isinstance(name, SymbolRefAttr)
    function = SymbolTable.lookup_symbol(op, name)
    if not isinstance(function, FuncOp):
        raise unsupported(op, f"the module has no function @{name.string_value()}")
    return function
