"""Values by name, in a function or region."""

from collections.abc import Iterable

from xdsl.ir import SSAValue

from neuronir.frontends.stablehlo.records import Body, Statement


class Scope:
    """The values of one function or region. hlo regions are isolated: they see no values outside
    of them, but constants can be built again."""

    def __init__(self, outer: "Scope | None" = None) -> None:
        self.values: dict[str, SSAValue] = {}
        self.constants: dict[str, Statement] = {} if outer is None else dict(outer.constants)
        self.outer = outer

    def is_outside(self, name: str) -> bool:
        """Return whether a name is defined around the region, but not in it."""
        scope = self.outer
        while scope is not None:
            if name in scope.values:
                return True
            scope = scope.outer
        return False


def captured(bodies: Iterable[Body], scope: Scope) -> list[str]:
    """Return the names of values that regions use from outside, except of constants."""
    found: dict[str, None] = {}
    for body in bodies:
        _captured(body, frozenset(), found)
    return [name for name in found if name not in scope.constants]


def _captured(body: Body, around: frozenset[str], found: dict[str, None]) -> None:
    defined = set(around)
    defined.update(argument.name for argument in body.arguments)
    for op in body.statements:
        for name in op.operands:
            if name not in defined:
                found.setdefault(name)
        for inner in op.bodies:
            _captured(inner, frozenset(defined), found)
        defined.update(op.results)
