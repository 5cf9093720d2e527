"""Represent values during lowering: scalars, copies in buffers, and deferred values.

A product is computed when it is read, one PSUM bank at a time, so that its reader evicts it. An
operation with a scalar or a per-partition scalar is deferred, because the next instruction can
often include it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from neuronir.dialects.nc.enums import AluOp, DType
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.layouts.layout import Atom, Form


@dataclass(frozen=True)
class Number:
    """A uniform value."""

    value: float


@dataclass(frozen=True)
class Held:
    """A copy in a buffer, of the type `dtype`: that of the elements, unless readers widen them."""

    form: Form
    dtype: DType
    as_stored: bool = True


@dataclass(frozen=True)
class Piece:
    """A part of a product in PSUM: its address, its start element in the result, and its digits."""

    view: View
    number: int
    atoms: tuple[Atom, ...]

    @property
    def partitions(self) -> int:
        """Return the number of partitions."""
        return self.view.partitions


class Pieces(Protocol):
    """A value that is computed piece by piece, in PSUM."""

    form: Form  # its layout if it were a copy, without a buffer

    def pieces(self, others: Sequence[Form] = ()) -> Iterator[Piece]:
        """Compute the pieces one by one, if possible such that the copies `others` have one stride
        along each digit of a piece.
        """
        ...


@dataclass(frozen=True)
class Scalar:
    """An operation with a scalar or per-partition scalars (a copy with compatible free digits)."""

    op: AluOp
    operand: "float | Form"
    reverse: bool = False


@dataclass(frozen=True)
class Lazy:
    """At most two deferred scalar operations on a copy or on a product."""

    source: "Held | Pieces"
    steps: tuple[Scalar, ...]
    dtype: DType

    @property
    def form(self) -> Form:
        """Return the layout of the source."""
        return self.source.form


@dataclass(frozen=True)
class Padded:
    """An array in HBM, of `shape`, that its loads surround with a number.

    `low` are the padded positions before it along each dimension.
    """

    form: Form
    shape: tuple[int, ...]
    low: tuple[int, ...]
    number: float


Value = Number | Held | Lazy


def lies_in(value: Value, form: Form) -> bool:
    """Return whether a value is read from the buffer of a copy."""
    source = value.source if isinstance(value, Lazy) else value
    return isinstance(source, Held) and source.form.buffer is form.buffer
