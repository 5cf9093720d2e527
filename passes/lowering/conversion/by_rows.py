"""Load by rows and transpose with PE if a direct load would gather small pieces from HBM.

A DMA engine takes as long for a descriptor of 4 bytes as for one of 1.6 KB (docs/hardware.md
section 2.5), and PE transposes a tile of 128 x 128 in less time than two descriptors take.
"""

from collections.abc import Sequence
from math import inf, prod

from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.layouts.cover import covered, in_order_of, remaining
from neuronir.passes.lowering.layouts.layout import (
    Form,
    dense,
    dim_atoms,
    meet,
    tile,
    tile_width,
)
from neuronir.passes.lowering.layouts.values import Partition, Value
from neuronir.passes.lowering.layouts.views import dma_reaches, walked

GAIN = 4
"""The reduction in descriptors that makes up for the transposes."""


def rows_first(machine: Machine, value: Value, source: Form, wanted: Partition) -> Partition | None:
    """Return the layout in which to load `value` before it is transposed to `wanted`.

    The same layout is used to store a transposed value. Returns None if the direct way is as good,
    or if PE cannot transpose.
    """
    count = prod(a.size for a, _ in wanted)
    dense_steps = sum((a.size - 1) * s for a, s in wanted) + 1 == count
    if not wanted or not dense_steps or not value.dtype.is_float or value.dtype.size > 4:
        return None
    atoms = [
        a
        for a in dim_atoms(value.shape, range(len(value.shape)))
        if covered(value.support, a) and not any(meet(a, w) for w, _ in wanted)
    ]
    direct = descriptors(value, source, wanted)
    limit = machine.partitions
    if direct is None or direct <= GAIN * limit or not atoms:
        return None
    widest = max(atoms, key=lambda a: min(a.size, limit))
    width = tile_width(widest.size, limit)
    inner = widest if width == widest.size else tile(widest.size, widest.stride, width)[1]
    rows: Partition = ((inner, 1),)
    by_rows = descriptors(value, source, rows)
    if by_rows is None or direct <= GAIN * (by_rows + limit):
        return None
    return rows


def descriptors(value: Value, source: Form, wanted: Partition) -> int | None:
    """Return the contiguous pieces of HBM in a layout; None if it cannot be loaded at once."""
    free = remaining(value.support, [a for a, _ in wanted])
    if free is None:
        return None
    layout = Form(source.buffer, wanted, dense(in_order_of(list(free), source)))
    if not dma_reaches(layout, source):
        return None
    run = 1
    for d in reversed(walked([layout, source], [a for a, _ in layout.free])):
        if d.strides[1] != run or d.atom.ragged:
            break
        run *= d.size
    return prod(a.size for a, _ in wanted) * prod(a.size for a in free) // run


def longest_rows(value: Value, forms: Sequence[Form], memory: Form) -> Form:
    """Return the copy whose transfer to or from `memory` has the fewest pieces; of equals the
    first.
    """
    if len(forms) == 1:
        return forms[0]
    return min(forms, key=lambda f: descriptors(value, memory, f.partition) or inf)
