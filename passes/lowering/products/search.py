"""Search the best blocking of a large dot with a closed-form estimate (estimate.py)."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from neuronir.dialects.nc.machine import Machine, description_of
from neuronir.passes.lowering.layouts.layout import tile_width
from neuronir.passes.lowering.products.blocking import BANKS, Blocking, Problem, Tiles
from neuronir.passes.lowering.products.estimate import Estimate

CODE = 0.02
"""The gain that a separate first block must have to justify the additional code."""
UNEVEN = 0.01
"""The gain that an odd number of steps, a shorter last step, or a start with few columns must have.
"""
EVICTED = (2, 4)
"""Limit of result tiles in SBUF until they are stored."""

_known: dict[tuple[Problem, str, Tiles | None], Blocking | None] = {}


def choose(problem: Problem, machine: Machine, tiles: Tiles | None = None) -> Blocking | None:
    """Return the blocking with the least estimate, optionally with the given `tiles`.

    Returns None if none fits in SBUF.
    """
    key = (problem, description_of(machine), tiles)
    if key not in _known:
        estimate = Estimate(problem, machine)
        cuts = [
            (estimate.at_least(cut), i, cut)
            for i, cut in enumerate(_cuts(problem, machine))
            if tiles in (None, cut.tiles) and estimate.fits(cut)
        ]
        best, least = None, (inf, 0)  # if equal, the first one
        for bound, i, cut in sorted(cuts, key=lambda c: c[:2]):
            if bound > least[0]:
                break
            for b in _candidates(cut, problem, estimate):
                if estimate.fits(b):
                    ns = estimate.total(b) * _reluctance(b, problem)
                    if (ns, i) < least:
                        best, least = b, (ns, i)
        _known[key] = best and _estimated(best, estimate)
    return _known[key]


def _estimated(b: Blocking, estimate: Estimate) -> Blocking:
    return replace(b, ns=estimate.total(b), least_ns=estimate.least(b))


def named(problem: Problem, machine: Machine, wanted: Blocking) -> Blocking | None:
    """Return the blocking with these tiles, with its sizes and estimate; None if it is not a
    candidate.
    """
    estimate = Estimate(problem, machine)
    for b in _all(problem, machine, estimate, wanted.tiles):
        if replace(wanted, rows=b.rows, columns=b.columns, depth=b.depth) == b:
            return _estimated(b, estimate)
    return None


def first_fit(problem: Problem, machine: Machine, tiles: Tiles | None = None) -> float:
    """Return the estimate (ns) of the first candidate that fits in SBUF: a search without
    comparison.

    The result is infinite if none fits.
    """
    estimate = Estimate(problem, machine)
    first = next(_all(problem, machine, estimate, tiles), None)
    return inf if first is None else estimate.total(first)


def _all(
    problem: Problem, machine: Machine, estimate: Estimate, tiles: Tiles | None
) -> Iterator[Blocking]:
    """Yield all candidates that fit in SBUF."""
    for cut in _cuts(problem, machine):
        if tiles in (None, cut.tiles) and estimate.fits(cut):
            yield from (b for b in _candidates(cut, problem, estimate) if estimate.fits(b))


def _reluctance(b: Blocking, problem: Problem) -> float:
    """Return the weighted estimate: higher if it is less certain or needs more code."""
    return 1 + CODE * b.ramp + UNEVEN * (b.begin is not None or b.uneven(problem))


def _shares(count: int) -> list[int]:
    """Return the sizes of equal parts of `count`, largest first."""
    return sorted({-(-count // i) for i in range(1, count + 1)}, reverse=True)


def _cuts(p: Problem, machine: Machine) -> Iterator[Blocking]:
    """Yield all block sizes, with the fewest staged and evicted tiles."""
    rows = tile_width(p.m, machine.partitions)
    columns = tile_width(p.n, machine.matmul_max_moving)
    depth = tile_width(p.k, machine.partitions)
    for column_tiles in _shares(-(-p.n // columns)):
        if column_tiles > 2 * BANKS:
            continue
        for row_tiles in _shares(-(-p.m // rows)):
            for depth_tiles in _shares(-(-p.k // depth)):
                b = Blocking(rows, columns, depth, row_tiles, column_tiles, depth_tiles)
                if b.block_depth < p.k and row_tiles < min(2, -(-p.m // rows)):
                    continue  # buffers of results would not rotate
                yield b


def _candidates(b: Blocking, p: Problem, estimate: Estimate) -> Iterator[Blocking]:
    """Yield all candidates with given block sizes."""
    if b.block_depth >= p.k:
        yield from _resident(b, p, estimate)
        return
    for staged in _staged(b, p, estimate.machine):
        for evicted in EVICTED:
            for ramp in (False, True) if not p.transposed[1] else (False,):
                yield replace(b, staged=staged, evicted=evicted, ramp=ramp)


def _resident(b: Blocking, p: Problem, estimate: Estimate) -> Iterator[Blocking]:
    """Yield the candidates with one step."""
    b = replace(b, shared=estimate.shared(b))
    for evicted in EVICTED:
        b = replace(b, evicted=evicted)
        if not estimate.fits(b):
            break
        begin = estimate.begin(b)
        for staged in _staged(b, p, estimate.machine):
            yield replace(b, staged=staged)
            # Tiles of rows that are transposed one by one are stored to HBM as blocks of one.
            if begin is not None and (b.row_tiles == 1 or b.panel_columns >= p.n):
                yield replace(b, staged=max(staged, begin.rows), begin=begin)


def _staged(b: Blocking, p: Problem, machine: Machine) -> list[int]:
    """Return how many tiles of rows may be staged in SBUF for transposes."""
    columns = -(-b.panel_columns // machine.partitions)
    most = max(b.row_tiles, columns if p.transposed[1] else 0)
    return sorted({max(2, min(n, most)) for n in (2, 4, 8, most)})
