"""Split the columns of a product into matmuls, each of which fits a PSUM bank."""

from collections.abc import Callable, Iterator, Sequence
from math import prod

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom
from neuronir.passes.lowering.layouts.views import plan

Block = tuple[int, list[Atom], list[Atom]]
"""The columns of matmuls: where they start, the digits of one matmul, and those that repeat it."""

MOST_DIGITS = 3
"""Limit of digits of the columns of a matmul."""


def blocks_beside(
    free_of: Callable[[Sequence[Form]], list[Atom]],
    moves: Callable[[Atom], bool],
    beside: Sequence[Form],
    machine: Machine,
) -> tuple[list[Block], list[Atom]]:
    """Return the columns of the matmuls of a product, and the other free digits.

    `free_of` gives the free digits of the result, split at the ends of some copies' digits, and
    `moves` says which are columns. A bank may end inside a digit of a copy that is read with it, or
    contain the end of one: the columns are then split at the ends of the copies' digits first.
    """
    for cuts in ((), beside):
        free = free_of(cuts)
        columns = [a for a in free if moves(a)]
        blocks = list(column_blocks(columns, machine))
        parts = [inner for _, inner, _ in blocks]
        if all(plan(beside, inner) is not None for inner in parts) and not any(
            _straddles(a, columns, form) for inner in parts for a in inner for form in beside
        ):
            break
    return blocks, [a for a in free if not moves(a)]


def _straddles(part: Atom, columns: Sequence[Atom], form: Form) -> bool:
    """Return whether a digit of a copy ends inside of a part of a column, in one of its
    repetitions.
    """
    whole = next(a for a in columns if a.stride <= part.stride and part.end <= a.end)
    ends = {c for a in form.atoms() for c in (a.stride, a.end)}
    return any(part.stride < c < whole.end and c % part.end for c in ends)


def column_blocks(columns: Sequence[Atom], machine: Machine) -> Iterator[Block]:
    """Split the columns of a dot into matmuls that fit a PSUM bank.

    Returns where the columns of one kind of matmul start, their sizes, and the digits that repeat
    them. There is one kind, or equal parts and a shorter last one if that is faster, because the
    digit that does not fit has no suitable divisor: 29 rows of 29 columns are 15 and 14 rows.
    """
    bank = machine.psum_bank_bytes // DType.F32.size
    inner, beside = column_block(columns, bank)
    cut = next((i for i in reversed(range(len(columns))) if _width(columns[i:]) > bank), None)
    if cut is None or len(columns) - cut > MOST_DIGITS:
        yield 0, inner, beside
        return
    last, inside, outer = columns[cut], list(columns[cut + 1 :]), list(columns[:cut])
    size = -(-last.size // -(-last.size // (bank // _width(inside))))
    whole, left = last.size // size, last.size % size
    parts = whole * _columns_time(size * _width(inside), machine)
    if left:
        parts += _columns_time(left * _width(inside), machine)
    even = last.size * _width(inside) // _width(inner) * _columns_time(_width(inner), machine)
    if even <= parts:
        yield 0, inner, beside
        return
    yield 0, [atom(size, last.stride), *inside], [*outer, atom(whole, last.stride * size)]
    if left:
        yield whole * size * last.stride, [atom(left, last.stride), *inside], outer


def _width(digits: Sequence[Atom]) -> int:
    return prod(a.size for a in digits)


def _columns_time(width: int, machine: Machine) -> float:
    """Return the cycles of a matmul with so many columns."""
    load = machine.pe_columns / machine.stationary_load_divisor
    return max(machine.matmul_min_cycles, width) + machine.matmul_overhead_cycles + load


def column_block(columns: Sequence[Atom], bank: int) -> tuple[list[Atom], list[Atom]]:
    """Return the columns of one matmul, at most `bank`, and the digits that repeat it."""
    inner: list[Atom] = []
    beside: list[Atom] = []
    width = 1
    for a in reversed(columns):
        if beside or width * a.size > bank or len(inner) == MOST_DIGITS:
            room = bank // width if not beside and len(inner) < MOST_DIGITS else 1
            size = max(d for d in range(1, a.size + 1) if a.size % d == 0 and d <= room)
            if size > 1:
                inner.insert(0, atom(size, a.stride))
                width *= size
            if size < a.size:
                beside.insert(0, atom(a.size // size, a.stride * size))
            continue
        inner.insert(0, a)
        width *= a.size
    return inner, beside


def together(outer: list[Atom], width: int, bank: int) -> tuple[list[Atom], list[Atom]]:
    """Split the digits outside of a matmul into those that share a bank and the remaining ones."""
    if not outer or width * 2 > bank:
        return [], outer
    last = outer[-1]
    size = max(d for d in range(1, last.size + 1) if last.size % d == 0 and d * width <= bank)
    if size == 1:
        return [], outer
    rest = [atom(last.size // size, last.stride * size)] if size < last.size else []
    return [atom(size, last.stride)], [*outer[:-1], *rest]
