"""Run one instruction's kernel on arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.nc.instruction import AccessPattern, Affine, Instruction
from neuronir.dialects.nc.semantics import kernel_of

Array = NDArray[Any]
Source = tuple[Array, DType] | None
Result = tuple[tuple[int, ...], DType] | None


def pattern(shape: Sequence[int], dtype: DType, space: Space = Space.SBUF) -> AccessPattern:
    """A dense pattern of [partitions, *free]."""
    free: list[tuple[int, int]] = []
    step = 1
    for size in reversed(shape[1:]):
        free.insert(0, (step, size))
        step *= size
    return AccessPattern(space, dtype, Affine(), 0, shape[0], tuple(free), step * dtype.size)


def compute(
    opcode: str,
    engine: Engine,
    results: Sequence[Result],
    sources: Sequence[Source],
    params: dict[str, int | float] | None = None,
    *,
    start: Sequence[Array | None] | None = None,
    warnings: list[str] | None = None,
    table: int = -1,
    generation: int = 2,
) -> list[Array]:
    """The destinations after the instruction, zero (or `start`) before it.

    `table` is the number of the operand (destinations first) that is a table in HBM, whose pattern
    is one of its rows.
    """
    patterns: list[AccessPattern | None] = []
    for i, shape in enumerate(
        [*(r[0] if r else None for r in results), *(s[0].shape if s else None for s in sources)]
    ):
        dtypes = [*(r[1] if r else None for r in results), *(s[1] if s else None for s in sources)]
        dtype = dtypes[i]
        if shape is None or dtype is None:
            patterns.append(None)
        elif i == table:
            patterns.append(pattern((1, *shape[1:]), dtype, Space.HBM))
        else:
            patterns.append(pattern(shape, dtype))
    n = len(results)
    instruction = Instruction(
        opcode, engine, tuple(patterns[:n]), tuple(patterns[n:]), dict(params or {})
    )
    said: list[str] = [] if warnings is None else warnings
    kernel = kernel_of(instruction, lambda text, count: said.append(f"{count} {text}"), generation)
    out: list[Array | None] = []
    for i, result in enumerate(results):
        if result is None:
            out.append(None)
            continue
        given = start[i] if start else None
        out.append(np.zeros(result[0], result[1].numpy) if given is None else np.array(given))
    with np.errstate(all="ignore"):
        kernel(tuple(out), tuple(s[0] if s else None for s in sources))
    return [o for o in out if o is not None]
