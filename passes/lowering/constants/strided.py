"""Return a constant in a required layout as a view of its elements, without a copy."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from neuronir.dialects.support.lazy import LazyArray
from neuronir.dialects.support.window import as_strided
from neuronir.passes.lowering.constants.layered import Layered, layers_of
from neuronir.passes.lowering.layouts.cover import covered
from neuronir.passes.lowering.layouts.layout import Atom
from neuronir.passes.lowering.layouts.values import Partition


def strided(
    flat: np.ndarray,
    support: Sequence[Atom],
    wanted: Partition,
    free: Sequence[Atom],
    copies: int,
) -> np.ndarray | None:
    """Return the elements of `flat` by partition and then by `free` atom, in row-major order.

    `flat` has the elements of a value that varies along `support`. If no atom is `wanted`, `copies`
    partitions are equal. Returns None if partitions are skipped, a tile is ragged, or a view would
    leave the array.
    """
    if any(a.ragged for a in free) or any(a.ragged for a, _ in wanted):
        return None
    rows = 1
    for a, step in reversed(wanted):
        if step != rows:
            return None
        rows *= a.size
    pairs = [(a.size, a.stride if covered(support, a) else 0) for a, _ in wanted] or [(copies, 0)]
    pairs += [(a.size, a.stride) for a in free]
    if sum((size - 1) * stride for size, stride in pairs) >= flat.size:
        return None
    shape = [size for size, _ in pairs]
    layers = layers_of(flat)
    if layers is None:
        return _view(flat, shape, pairs)
    return Layered.of([_view(layer, shape, pairs) for layer in layers])


def _view(flat: np.ndarray, shape: list[int], pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    if isinstance(flat, LazyArray):
        strides = [stride * flat.itemsize for _, stride in pairs]
        return cast(np.ndarray, flat.strided(shape, strides))
    # One column of an array is flat without a copy, although its elements are not adjacent.
    return as_strided(flat, shape, [stride * flat.strides[0] for _, stride in pairs])
