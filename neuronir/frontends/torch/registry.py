"""Register the ATen operators that can be imported, and the reasons why others cannot."""

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from neuronir.frontends.torch.node import Node

Result = SSAValue | Sequence[SSAValue | None]
Function = Callable[[Node], Result]

OPERATORS: dict[str, Function] = {}
"""By name: `add` is all overloads, `max.dim` a single one."""

REFUSED: dict[str, str] = {}
"""Operators that cannot be imported, with reasons."""

BY_DATA = "the shape of its result depends on data"

KEPT: set[str] = set()
"""Operators that are imported whole although torch would decompose them: they carry more
information than their parts.
"""


def operator(*names: str, kept: bool = False) -> Callable[[Function], Function]:
    """Register the function of operators (`add`: all overloads; `max.dim`: one).

    The function returns one value, or one for each result. `kept` operators are not decomposed.
    """

    def register(function: Function) -> Function:
        for name in names:
            OPERATORS[name] = function
            if kept:
                KEPT.add(name)
        return function

    return register


def find(name: str) -> Function | None:
    """Return the function of an operator by its full name (`aten.add.Tensor`)."""
    namespace, _, own = name.partition(".")
    if namespace != "aten":
        return OPERATORS.get(f"{namespace}.{own.partition('.')[0]}")
    return OPERATORS.get(own) or OPERATORS.get(own.partition(".")[0])


def why_not(name: str) -> str | None:
    """Return why an operator cannot be imported, or None if it can."""
    if find(name) is not None:
        return None
    namespace, _, own = name.partition(".")
    reason = REFUSED.get(own) or REFUSED.get(own.partition(".")[0])
    if reason is not None:
        return reason
    return "it is not supported" if namespace == "aten" else "it is no operator of ATen"
