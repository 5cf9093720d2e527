"""Values while they are lowered: numbers, copies in buffers, and what is not computed yet.

A product is computed when it is read, a bank of PSUM at a time, so that who reads it takes it out
of PSUM. An operation with a number, or with one number a partition, waits for the next one, which
can often do both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from neuronir.dialects.nc.enums import AluOp, DType
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.layouts.layout import Atom, Form


@dataclass(frozen=True)
class Number:
    """One number everywhere."""

    value: float


@dataclass(frozen=True)
class Held:
    """A copy in a buffer."""

    form: Form
    dtype: DType


@dataclass(frozen=True)
class Piece:
    """A part of a product: where it lies in PSUM, the element number where it begins in the result,
    and the digits that it holds, outermost first."""

    view: View
    number: int
    atoms: tuple[Atom, ...]

    @property
    def partitions(self) -> int:
        """Partitions of it."""
        return self.view.partitions


class Pieces(Protocol):
    """What is computed piece by piece, in PSUM."""

    form: Form  # as it would lie if it were one, without a buffer of its own

    def pieces(self) -> Iterator[Piece]:
        """Compute the next piece, and the next."""
        ...


@dataclass(frozen=True)
class Scalar:
    """An operation with a number or with one number a partition (a copy without free digits, or
    whose free digits go along)."""

    op: AluOp
    operand: "float | Form"
    reverse: bool = False


@dataclass(frozen=True)
class Lazy:
    """Scalar operations that wait: at most two, on a copy or on a product."""

    source: "Held | Pieces"
    steps: tuple[Scalar, ...]
    dtype: DType

    @property
    def form(self) -> Form:
        """The layout of the source."""
        return self.source.form


Value = Number | Held | Lazy
