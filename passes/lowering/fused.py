"""Record which HLO ops are lowered together, for the report."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from xdsl.ir import Operation

from neuronir.dialects.nc.origin import in_group
from neuronir.dialects.support.location import source_name
from neuronir.passes.lowering.state import VIEWS, Lowering

# Views, and casts: casts that the compiler inserts have the name of the op that they are for.
_SILENT = (*VIEWS, "hlo.convert")


class Fusing:
    """Names the groups of a function: the ops of each lowered unit, and the ops fused into it."""

    def __init__(self, state: Lowering) -> None:
        self.state = state
        self._claimed: set[Operation] = set()

    @contextmanager
    def unit(self, ops: Sequence[Operation]) -> Iterator[None]:
        """Lower `ops` as one unit; nested units belong to it."""
        emitter = self.state.emitter
        if emitter.unit is not None:
            yield
            return
        placed = emitter.unit = []
        try:
            yield
        finally:
            emitter.unit = None
        self._claimed.update(ops)
        taken = (op for op in self._taken(ops) if op.name not in _SILENT)
        names = [source_name(op) for op in (*ops, *taken)]
        label = " + ".join(dict.fromkeys(filter(None, names)))
        if " + " in label:
            grouped = in_group(label)
            for instruction in placed:
                instruction.location = grouped(instruction.location)

    def _taken(self, ops: Sequence[Operation]) -> list[Operation]:
        """Return neighbours, direct and indirect, that the lowering of `ops` has also lowered."""
        found: list[Operation] = []
        queue = list(ops)
        while queue:
            op = queue.pop()
            near = [v.owner for v in op.operands if isinstance(v.owner, Operation)]
            near += [use.operation for result in op.results for use in result.uses]
            for other in near:
                if other in self.state.done and other not in self._claimed:
                    self._claimed.add(other)
                    found.append(other)
                    queue.append(other)
        return found
