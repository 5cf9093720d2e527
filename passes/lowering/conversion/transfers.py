"""Transfer values between SBUF and HBM."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.resources import intern
from neuronir.dialects.nc.enums import DType, Space
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import space_of
from neuronir.passes.lowering.conversion.orders import Orders
from neuronir.passes.lowering.layouts.columns import by_columns
from neuronir.passes.lowering.layouts.layout import Form, atom, join, row_major
from neuronir.passes.lowering.layouts.values import Value
from neuronir.passes.lowering.layouts.views import dma_views, in_parts, in_turn


class Transfers(Orders):
    """Emits transfers between copies on the chip and in HBM."""

    def hbm_constant(self, array: np.ndarray, dtype: DType, shape: Sequence[int]) -> SSAValue:
        """Return a constant that stays in HBM (gather tables)."""
        data = np.ascontiguousarray(array.astype(dtype.numpy, copy=False)).reshape(tuple(shape))
        return self.emitter.variable(
            "table", "constant", shape, dtype, value=intern(data, owned=True)
        )

    def transfer(self, dst: Form, src: Form, load: bool) -> None:
        """Emit DMA between an HBM form and an SBUF form; from PSUM through SBUF first."""
        chip, memory = (dst, src) if load else (_once(src, dst), dst)
        if space_of(chip.buffer) is Space.PSUM:
            chip = self.to_sbuf(chip)
        parts = [list(in_parts(*pair)) for pair in self._accesses(chip, memory)]
        for chip_view, memory_view in in_turn(parts):
            if load:
                self.emitter.dma(chip_view, memory_view)
            else:
                self.emitter.dma(memory_view, chip_view)

    def _accesses(self, chip: Form, memory: Form) -> Iterator[tuple[View, View]]:
        """Return the accesses, on the chip and in HBM, of the transfers between two forms."""
        for pair in dma_views(chip, memory, self.machine.dma_max_dims - 1):
            yield from by_columns(self.machine, *pair)


def hbm_form(buffer: SSAValue, value: Value, strides: Sequence[int] | None = None) -> Form:
    """Return the row-major (or given, in elements) copy of a value in an HBM buffer."""
    steps = strides or row_major(value.shape)
    free = tuple(
        (a, s)
        for a, s in zip(
            (atom(n, r) for n, r in zip(value.shape, row_major(value.shape), strict=True)),
            steps,
            strict=True,
        )
        if a.size > 1
    )
    return Form(buffer, (), join(free), hbm=True)


def _once(chip: Form, memory: Form) -> Form:
    """Return an on-chip form without repeats: each element of `memory` is stored once."""
    varying = tuple((a, s) for a, s in chip.partition if memory.stride(a) != 0)
    return replace(chip, partition=varying, copies=1)
