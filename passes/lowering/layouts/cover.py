"""Compute which factors of a value a layout covers, and what remains for the free axis."""

from collections.abc import Sequence

from neuronir.passes.lowering.layouts.layout import Atom, Form, split_at
from neuronir.passes.lowering.layouts.values import Partition


def covered(support: Sequence[Atom], a: Atom) -> bool | None:
    """Return whether a value with `support` varies along `a`; None if it varies along a part of
    `a`, or repeats within a round of `a` that its own factor does not divide.
    """
    for s in support:
        if a.stride < s.end and s.stride < a.end:
            whole = s.ragged or s.end % a.reach == 0
            if s.stride <= a.stride and a.end <= s.end and whole:
                return True
            return None
    return False


def independent(support: Sequence[Atom], a: Atom) -> bool:
    """Return whether a value with `support`, which excludes `a`, is constant along `a`.

    `a` carries over into the digits above it that it does not divide, and digits below carry over
    into `a` if they do not divide it.
    """
    return all(
        s.stride % a.reach == 0 if s.stride >= a.end else a.unit % s.reach == 0 for s in support
    )


def nested(support: Sequence[Atom]) -> bool:
    """Return whether the factors (outermost first) divide those above them.

    Otherwise a step along one also moves along those below it.
    """
    return all(
        a.ragged or b.ragged or a.stride % b.end == 0
        for a, b in zip(support, support[1:], strict=False)
    )


def remaining(support: Sequence[Atom], partition: Sequence[Atom]) -> tuple[Atom, ...] | None:
    """Return the atoms of `support` that `partition` leaves for the free axis, outermost first."""
    out: list[Atom] = []
    for s in support:
        inside = [a for a in partition if s.stride <= a.stride and a.end <= s.end]
        ragged = [a for a in inside if a.ragged]
        cuts = {c for a in inside for c in (a.stride, a.end)}
        if ragged:
            a = ragged[0]
            unit_end = a.unit * a.extent
            whole = split_at(s, {a.unit, unit_end})
            if whole is None:
                return None
            for part in whole:
                if part.stride == a.unit and part.end == unit_end:
                    width = a.size
                    out.append(Atom(-(-a.extent // width), a.unit * width, a.unit, a.extent))
                else:
                    split = split_at(part, cuts)
                    if split is None:
                        return None
                    out.extend(b for b in split if b not in inside)
            continue
        parts = split_at(s, cuts)
        if parts is None:
            return None
        out.extend(
            b for b in parts if not any(a.stride <= b.stride and b.end <= a.end for a in inside)
        )
    return tuple(out)


def lies_whole(form: Form, a: Atom) -> bool:
    """Return whether no factor of the form ends inside one of the runs of `a`.

    For example, 144 ends inside of the second run of 96. The outermost factor has no next run.
    """
    top = max((b.end for b in form.atoms()), default=0)
    ends = [b.end for b in form.atoms() if a.stride < b.end < top and b.stride < a.end]
    return a.ragged or all(end % a.end == 0 or a.end % end == 0 for end in ends)


def in_order_of(atoms: list[Atom], order: Form) -> list[Atom]:
    """Sort atoms by their stride in `order`, so that both are traversed alike."""
    cuts = {c for a in order.atoms() for c in (a.stride, a.end)}
    parts: list[tuple[int, Atom]] = []
    for a in atoms:
        split = (a,) if a.ragged else split_at(a, cuts)
        if split is None:
            return atoms
        for b in split:
            stride = order.stride(b)
            if stride is None or stride == 0:
                return atoms
            parts.append((stride, b))
    return [b for _, b in sorted(parts, key=lambda item: -item[0])]


def positions(pairs: Partition) -> int:
    """Return the positions of all atoms of a layout together."""
    n = 1
    for a, _ in pairs:
        n *= a.size
    return n


def elements_of(atoms: Sequence[Atom]) -> int:
    """Return the elements of all atoms together."""
    n = 1
    for a in atoms:
        n *= a.size
    return n
