"""Find NaN in the results of a run, and the instruction that produced the first one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.instruction import Program
from neuronir.targets.simulator.execute import Prepared
from neuronir.targets.simulator.memory import OutOfRange
from neuronir.targets.simulator.messages import describe, origin
from neuronir.targets.simulator.operand import Operand
from neuronir.targets.simulator.walker import Env, Node

Array = NDArray[Any]


@dataclass(frozen=True)
class NanOutput:
    """An output with `count` NaN of `size` values, the first one at the index `first`."""

    name: str
    count: int
    size: int
    first: tuple[int, ...]

    def text(self) -> str:
        """Return one sentence for the user."""
        return (
            f"output '{self.name}' has {self.count} NaN of {self.size} values, "
            f"the first one at {list(self.first)}"
        )


def nan_outputs(names: Sequence[str], outputs: Sequence[Array]) -> list[NanOutput]:
    """Return the outputs that have NaN, in order."""
    found = []
    for name, array in zip(names, outputs, strict=True):
        mask = _nans(array)
        if mask is not None and mask.any():
            first = np.unravel_index(int(mask.argmax()), mask.shape)
            at = tuple(int(i) for i in first)
            found.append(NanOutput(name, int(mask.sum()), mask.size, at))
    return found


class NanWatch:
    """Watch for the first instruction that produces NaN from operands without NaN."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.first: str | None = None

    def run(self, node: Node, env: Env) -> None:
        """Execute an instruction. Its operands are examined first, because it may overwrite
        them.
        """
        payload = node.payload
        if self.first is not None or not isinstance(payload, Prepared):
            payload(env)
            return
        try:
            # An instruction that adds to its target, or leaves part of it, carries the NaN there.
            read = (*payload.sources, *payload.targets) if payload.keeps else payload.sources
            carried = _any_nan(read, env)
        except OutOfRange:
            carried = True  # the instruction itself reports it
        payload(env)
        if not carried and _any_nan(payload.targets, env):
            where = origin(self._program.sources, node.instruction)
            self.first = f"{describe(node.instruction, env)} from {where}"


def _any_nan(operands: Iterable[Operand | None], env: Env) -> bool:
    for operand in operands:
        if operand is not None:
            mask = _nans(operand.at(env).array)
            if mask is not None and mask.any():
                return True
    return False


def _nans(array: Array) -> NDArray[np.bool_] | None:
    """Return where an array has NaN, or None if its type has none."""
    if np.issubdtype(array.dtype, np.integer) or array.dtype == np.bool_:
        return None
    mask: NDArray[np.bool_] = np.isnan(array)
    return mask
