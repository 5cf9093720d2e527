"""Find variables by address."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from neuronir.dialects.nc.instruction import Variable


class ByAddress:
    """The variables of a program, by their addresses in HBM; some of one kind may share bytes."""

    def __init__(self, variables: Sequence[Variable]) -> None:
        places = [(v.address, v.address + v.size) for v in variables]
        self.order = sorted(range(len(variables)), key=places.__getitem__)
        self.variables = [variables[i] for i in self.order]
        self._starts = [v.address for v in self.variables]
        ends = (v.address + v.size for v in self.variables)
        self._ends = list(accumulate(ends, max))  # of this variable and those before it

    def holding(self, low: int, high: int) -> int:
        """Return the number of a variable with the bytes from `low` to `high` (exclusive); -1 if
        there is none. Of several, it is the one that begins last.
        """
        at = bisect_right(self._starts, low) - 1
        while at >= 0 and high <= self._ends[at]:
            variable = self.variables[at]
            if high <= variable.address + variable.size:
                return self.order[at]
            at -= 1
        return -1
