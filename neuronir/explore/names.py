"""Name SSA values so that a value that survives a pass keeps its name.

A printer numbers values from the first line on: one op more renames all values below it, and a
comparison of two texts shows changes everywhere.
"""

from collections.abc import Iterator
from itertools import count

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from neuronir.dialects.support.walking import ops_of


class Names:
    """The names of the values of a module, over the passes of a compile.

    Numbers are never reused. A name made from a hint is free again if its value is gone.
    """

    def __init__(self) -> None:
        self._names: dict[SSAValue, str] = {}
        self._numbers = count()

    def __getitem__(self, value: SSAValue) -> str:
        return self._names[value]

    def update(self, module: ModuleOp) -> None:
        """Name the new values of a module and forget those that it no longer has."""
        found: dict[SSAValue, str] = {}
        for scope in _scopes(module):
            self._name(scope, found)
        self._names = found

    def _name(self, scope: list[SSAValue], found: dict[SSAValue, str]) -> None:
        """Name the values of one function."""
        taken: set[str] = set()
        new: list[SSAValue] = []
        for value in scope:
            name = self._names.get(value)
            if name is None or name in taken:
                new.append(value)
            else:
                found[value] = name
                taken.add(name)
        repeated: dict[str, int] = {}
        for value in new:
            hint = value.name_hint
            name = str(next(self._numbers)) if hint is None else hint
            while hint is not None and name in taken:
                repeated[hint] = number = repeated.get(hint, 0) + 1
                name = f"{hint}_{number}"
            found[value] = name
            taken.add(name)


def _scopes(module: ModuleOp) -> Iterator[list[SSAValue]]:
    """Yield the values of each op that is isolated from above, in order of definition."""
    left: list[Operation] = [module]
    while left:
        values: list[SSAValue] = []
        _collect(left.pop(), values, left)
        yield values


def _collect(op: Operation, values: list[SSAValue], isolated: list[Operation]) -> None:
    for region in op.regions:
        for block in region.blocks:
            values += block.args
            for inner in ops_of(block):
                values += inner.results
                if inner.regions and inner.has_trait(IsolatedFromAbove):
                    isolated.append(inner)
                elif inner.regions:
                    _collect(inner, values, isolated)
