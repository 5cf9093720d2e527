"""Find bytes that transfers load into SBUF and no instruction reads.

The answer is a lower bound, because a byte counts as read if any instruction of the program reads
its address, on any partition and at any time, even if another transfer has overwritten it.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import reads, shape_of
from neuronir.dialects.nc.instruction import AccessPattern
from neuronir.targets.simulator.attribution import Usage
from neuronir.targets.simulator.timing_code import TRANSFER, Op, ProgramCode

_MOST = 1 << 16
"""Limit of the runs of bytes that are distinguished in an access."""

_LOAD = (Space.SBUF, Space.HBM)
"""The spaces of destination and source of a load."""

_Loops = tuple[tuple[int, int], ...]
"""(level, trip count) of the loops around an instruction."""
_Runs = tuple[npt.NDArray[np.int64], int]
"""The first bytes of runs, and their width."""


def unread_of(code: ProgramCode, usage: Usage) -> dict[int, float]:
    """Return the result of `unread` for the code, which is computed once and kept in the usage."""
    if usage.unread is None:
        usage.unread = unread(code)
    return usage.unread


def unread(code: ProgramCode) -> dict[int, float]:
    """Return the fraction of the bytes that nothing reads, by the number of the loading op.

    Ops of which everything is read are left out. Nothing is known of a program with an address in
    SBUF that depends on a register or an argument.
    """
    size = code.machine.sbuf_partition_bytes
    change = np.zeros(size + 1, np.int64)
    loads: list[tuple[int, _Runs]] = []
    for op, loops in _ops(code):
        for ap in reads(op.instruction):
            if ap.space == Space.SBUF:
                found = _runs(ap, loops)
                if found is None:
                    return {}
                starts, width = found
                np.add.at(change, np.clip(starts, 0, size), 1)
                np.add.at(change, np.clip(starts + width, 0, size), -1)
        if op.kind == TRANSFER:
            dst, src = op.instruction.dst[0], op.instruction.src[0]
            assert dst is not None and src is not None  # guaranteed by the opcode table
            written = _runs(dst, loops) if (dst.space, src.space) == _LOAD else None
            if written is not None:
                loads.append((op.number, written))
    before = np.concatenate(([0], np.cumsum(np.cumsum(change[:-1]) > 0)))
    fractions = {number: 1.0 - _covered(before, written) for number, written in loads}
    return {number: fraction for number, fraction in fractions.items() if fraction > 0}


def _ops(code: ProgramCode) -> Iterator[tuple[Op, _Loops]]:
    for stream in code.codes:
        for step, loops in zip(stream.steps, stream.enclosing, strict=False):
            if isinstance(step, Op):
                yield step, loops


def _runs(ap: AccessPattern, loops: _Loops) -> _Runs | None:
    """Return the runs of bytes of an access over all iterations; their hull if there are too many.

    None if the address depends on anything but loops.
    """
    shape = shape_of(ap)
    trips = dict(loops)
    dims = list(shape.dims)
    for symbol, coefficient in ap.address.terms:
        if symbol not in trips:
            return None
        dims.append((coefficient, trips[symbol]))
    low = ap.address.const + shape.low
    count = 1
    for _, many in dims:
        count *= many
    if count > _MOST:
        ends = [stride * (many - 1) for stride, many in dims]
        first = low + sum(end for end in ends if end < 0)
        return np.array([first]), shape.width + sum(map(abs, ends))
    starts = np.array([low], np.int64)
    for stride, many in dims:
        starts = np.add.outer(starts, stride * np.arange(many, dtype=np.int64)).ravel()
    return starts, shape.width


def _covered(before: npt.NDArray[np.int64], written: _Runs) -> float:
    """Return the fraction of some bytes that is read; `before[n]` are the bytes read below `n`."""
    starts, width = written
    if not len(starts):
        return 1.0  # a loop without iterations writes nothing
    last = len(before) - 1
    low, high = np.clip(starts, 0, last), np.clip(starts + width, 0, last)
    return float((before[high] - before[low]).sum()) / (len(starts) * width)
