"""Create copies of values that are known at compile time: uniform values and constants."""

from collections.abc import Sequence

import numpy as np

from neuronir.dialects.nc.enums import DType
from neuronir.passes.lowering.constants.bound import digits_of, splits
from neuronir.passes.lowering.constants.strided import strided
from neuronir.passes.lowering.conversion.spread import Spreader
from neuronir.passes.lowering.fault import NoLayout
from neuronir.passes.lowering.layouts.cover import covered, elements_of, remaining
from neuronir.passes.lowering.layouts.layout import Atom, Form, dense
from neuronir.passes.lowering.layouts.values import Partition, Value


class KnownValues(Spreader):
    """Creates copies of scalars and constants."""

    def _make_scalar(self, value: Value, copies: int) -> Form:
        assert value.scalar is not None
        buffer = self.emitter.sbuf(copies, 1, value.dtype)
        form = Form(buffer, (), (), copies=copies)
        self.emitter.memset(form.at(0, copies, ()), float(value.scalar))
        return form

    def _make_constant(self, value: Value, wanted: Partition, copies: int) -> Form:
        assert value.array is not None
        free = remaining(value.support, [a for a, _ in wanted])
        if free is None:
            raise NoLayout(f"no layout for a constant of shape {value.shape}")
        flat = value.array.reshape(-1)
        if not wanted and copies > 1 and value.dtype is DType.F32 and splits(flat):
            return self._broadcast_rows(flat, free, value, copies)
        view = strided(flat, value.support, wanted, free, max(copies, 1))
        if view is not None:
            rows = elements_of([a for a, _ in wanted]) if wanted else max(copies, 1)
            return self._placed(view, rows, value, wanted, free, copies)
        steps = digits_of([(a.size, s) for a, s in wanted])
        rows = int(steps.max()) + 1
        index = np.full(rows, -1, np.int64)
        index[steps] = digits_of(
            [(a.size, a.stride if covered(value.support, a) else 0) for a, _ in wanted]
        )
        columns = digits_of([(a.size, a.stride) for a in free])
        numbers = index[:, None] + columns[None, :]
        valid = np.broadcast_to((index >= 0)[:, None], numbers.shape) & (numbers < flat.size)
        for a, _ in wanted:
            tile_atom = next((b for b in free if b.ragged), None)
            if a.ragged and tile_atom is not None:
                low = index // a.stride % a.size
                digit = digits_of([(b.size, 1 if b is tile_atom else 0) for b in free])
                valid = valid & (low[:, None] + digit[None, :] * a.size < a.extent)
        data = np.where(valid, flat[np.clip(numbers, 0, flat.size - 1)], np.zeros((), flat.dtype))
        if not wanted and copies > 1:
            data = np.broadcast_to(data, (copies, data.shape[1]))
        return self._placed(data, data.shape[0], value, wanted, free, copies)

    def _placed(
        self,
        data: np.ndarray,
        rows: int,
        value: Value,
        wanted: Partition,
        free: Sequence[Atom],
        copies: int,
    ) -> Form:
        """Return a constant's elements, in the order of `rows` partitions, where they are
        needed.
        """
        buffer, offset = self.constants.place(data, value.dtype, rows)
        name = value.dtype.name.lower()
        return Form(buffer, wanted, dense(free), 0, offset, name, 1 if wanted else max(copies, 1))
