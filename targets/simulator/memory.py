"""Represent the memories of a NeuronCore as bytes: SBUF, PSUM and the used part of HBM."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import DType, Space
from neuronir.dialects.nc.footprint import Shape, hull, shape_of, shapes_overlap
from neuronir.dialects.nc.instruction import AccessPattern, Variable
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.output import buffers_of
from neuronir.targets.simulator.by_address import ByAddress

Uninitialized = Literal["error", "nan", "zero"]
Bytes = NDArray[np.uint8]
View = NDArray[Any]
_UNSIGNED: dict[int, np.dtype[Any]] = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}
# kinds that are completely initialised before the program starts
READY_KINDS = frozenset({"input", "constant"})


class OutOfRange(Exception):
    """Raised for an access outside its memory; names the bytes and the limit."""


class Memory:
    """Byte-accurate memories with typed strided views, and a map of the written bytes.

    SBUF and PSUM are flat arrays of `partitions * pitch` bytes, partition after partition. With
    `uninitialized="error"`, a second byte per byte records whether it was written (0xFF) or not
    (0).
    """

    def __init__(
        self,
        machine: Machine,
        variables: Sequence[Variable],
        uninitialized: Uninitialized = "error",
        sbuf_bytes: int | None = None,
        psum_bytes: int | None = None,
    ) -> None:
        self.partitions = machine.partitions
        self.stationary: bytes | None = None  # the last stationary operand loaded into PE
        self.pitch = {
            Space.SBUF: sbuf_bytes or machine.sbuf_partition_bytes,
            Space.PSUM: psum_bytes or machine.psum_partition_bytes,
            Space.HBM: max((v.address + v.size for v in variables), default=0),
        }
        self._given = list(variables)
        self._by_address = ByAddress(self._given)
        self.variables = self._by_address.variables
        fill = 0xFF if uninitialized == "nan" else 0
        self.data: dict[Space, Bytes] = {}
        self.valid: dict[Space, Bytes | None] = {}
        for space, pitch in self.pitch.items():
            size = pitch if space == Space.HBM else pitch * self.partitions
            self.data[space] = np.full(size, fill, np.uint8) if fill else np.zeros(size, np.uint8)
            tracked = uninitialized == "error"
            self.valid[space] = np.zeros(size, np.uint8) if tracked else None
        # PSUM bytes that the tensor engine wrote last: only these may be accumulated into
        self.started: Bytes = np.zeros(self.pitch[Space.PSUM] * self.partitions, np.uint8)
        for variable in self.variables:
            if variable.data is not None:
                at = variable.address
                for piece in buffers_of([variable.data]):
                    self.data[Space.HBM][at : at + len(piece)] = np.frombuffer(piece, np.uint8)
                    at += len(piece)

    def view(self, ap: AccessPattern, address: int, dtype: np.dtype[Any] | None = None) -> View:
        """Return the elements of `ap` at byte `address`: [partitions, *sizes], without a copy."""
        return self._view(self.data[ap.space], ap, address, dtype or ap.dtype.numpy)

    def valid_view(self, ap: AccessPattern, address: int) -> View | None:
        """Return one unsigned integer per element, all ones if all its bytes were written.

        Returns None if no check is necessary: tracking is off, or an input or constant is read.
        """
        flat = self.valid[ap.space]
        if flat is None:
            return None
        if ap.space == Space.HBM:
            variable = self.variable_at(ap, address)
            if variable is not None and variable.kind in READY_KINDS:
                return None
        return self._view(flat, ap, address, _UNSIGNED[ap.dtype.size])

    def started_view(self, ap: AccessPattern, address: int) -> View:
        """Return a view like `valid_view` for the PSUM bytes that the tensor engine wrote."""
        return self._view(self.started, ap, address, _UNSIGNED[ap.dtype.size])

    def variable_at(self, ap: AccessPattern, address: int) -> Variable | None:
        """Return a variable that contains an HBM access; those that share bytes have one kind."""
        found = self._by_address.holding(*hull(ap, address))
        return self._given[found] if found >= 0 else None

    def ready_kind(self, ap: AccessPattern, address: int) -> str:
        """Return the kind of an input or constant that overlaps an HBM access, if any."""
        return ready_kind(self.variables, shape_of(ap), address)

    def _view(self, flat: Bytes, ap: AccessPattern, address: int, dtype: np.dtype[Any]) -> View:
        size = ap.dtype.size
        shape = (ap.partitions, *(n for _, n in ap.free))
        steps = tuple(stride * size for stride, _ in ap.free)
        bounds = shape_of(ap)
        limit = self.pitch[ap.space]
        if address + bounds.low < 0 or address + bounds.high > limit:
            per = "" if ap.space == Space.HBM else " of each partition"
            raise OutOfRange(
                f"touches bytes {address + bounds.low} to {address + bounds.high - 1}{per} of "
                f"{ap.space.name}, which has {limit}"
            )
        if ap.space == Space.HBM:
            return np.ndarray(shape, dtype, flat, address, (ap.partition_stride, *steps))
        if ap.start < 0 or ap.start + ap.partitions > self.partitions:
            raise OutOfRange(
                f"touches partitions {ap.start} to {ap.start + ap.partitions - 1} of "
                f"{self.partitions}"
            )
        return np.ndarray(shape, dtype, flat, ap.start * limit + address, (limit, *steps))

    def variable_array(self, variable: Variable) -> View:
        """Return the logical array of an input or output variable, as a view of HBM."""
        strides = variable.strides or row_major(variable.shape, variable.dtype)
        memory = self.data[Space.HBM]
        return np.ndarray(variable.shape, variable.dtype.numpy, memory, variable.address, strides)

    def unwritten(self, variable: Variable) -> int:
        """Return how many elements of an output were never written."""
        flat = self.valid[Space.HBM]
        if flat is None or variable.kind in READY_KINDS:
            return 0
        strides = variable.strides or row_major(variable.shape, variable.dtype)
        whole = _UNSIGNED[variable.dtype.size]
        view: View = np.ndarray(variable.shape, whole, flat, variable.address, strides)
        return int(np.count_nonzero(view != np.iinfo(whole).max))


def ready_kind(variables: Iterable[Variable], shape: Shape, address: int) -> str:
    """Return the kind of the first input or constant that overlaps bytes of HBM, if any."""
    for v in variables:
        whole = Shape(0, v.size, v.size, ())
        if v.kind in READY_KINDS and shapes_overlap(shape, whole, v.address - address):
            return v.kind
    return ""


def row_major(shape: Sequence[int], dtype: DType) -> tuple[int, ...]:
    """Return the byte strides of a dense row-major array."""
    strides: list[int] = []
    step = dtype.size
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
