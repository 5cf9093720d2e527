"""Load into a buffer of its own what belongs between padding, if its rows there are short.

A descriptor moves what is contiguous on both sides. A row of an image with a margin on the chip is
a descriptor of its own, while the image without a margin may be one descriptor per partition. A
copy on the chip then takes an engine less time than the descriptors.
"""

from dataclasses import replace
from math import ceil, prod

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.layouts.layout import Atom, Form
from neuronir.passes.lowering.layouts.views import dma_views
from neuronir.passes.tile.lower.state import Lower

GAIN = 2.0
"""The saved time of the DMA engines must be this multiple of that of the copy, whose engine may be
the busier one."""


def staged(state: Lower, chip: Form, memory: Form, dtype: DType) -> Form | None:
    """Return a dense buffer for the load of a copy, which a copy on the chip then moves to `chip`;
    None if the load itself should write there.
    """
    strides = [stride for _, stride in chip.free]
    if not chip.partition or chip.start or min(strides, default=0) < 1:
        return None
    step = 1
    free: list[tuple[Atom, int]] = []
    for a, _ in sorted(chip.free, key=lambda pair: pair[0].stride):
        free.insert(0, (a, step))
        step *= a.size
    dense = replace(chip, free=tuple(free), offset=0, indices=())
    saved = load_ns(state, chip, memory, dtype) - load_ns(state, dense, memory, dtype)
    machine = state.machine
    pieces = ceil(chip.elements / machine.max_free_psum)
    cycles = chip.elements + pieces * machine.dve_overhead_cycles
    if saved < GAIN * cycles / machine.dve_ghz:
        return None
    return replace(dense, buffer=state.emitter.sbuf(chip.partitions, step, dtype))


def load_ns(state: Lower, chip: Form, memory: Form, dtype: DType) -> float:
    """Return the estimated time of all DMA engines for a load."""
    machine, time = state.machine, 0.0
    for pair in dma_views(chip, memory, machine.dma_max_dims - 1):
        run = min(map(contiguous, pair))
        pieces = pair[0].partitions * prod(n for _, n in pair[0].free) // run
        each = max(machine.dma_queue_descriptor_ns, run * dtype.size / machine.dma_engine_gbps)
        time += ceil(pieces / machine.dma_engines) * each
    return time


def contiguous(view: View) -> int:
    """Return how many elements of a partition an access takes at a time, one behind the other."""
    run = 1
    for stride, size in reversed(view.free):
        if size > 1 and stride != run:
            break
        run *= size
    return run
