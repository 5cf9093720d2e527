"""Manage the simulated NeuronCores and the models on them."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from neuronir.dialects.support.errors import NeuronError

DEFAULT_CORES = 2
"""Cores of one chip (trn1.2xlarge)."""

_next = count()
_chosen: list[tuple[int, int]] = []
_lock = threading.Lock()


def visible_cores() -> list[int]:
    """Return the cores of NEURON_RT_VISIBLE_CORES (`0-3`, `0,2`), or as many as NEURON_RT_NUM_CORES
    says, numbered from 0 in the order given (NIR_TORCH005).
    """
    listed = os.environ.get("NEURON_RT_VISIBLE_CORES")
    number = os.environ.get("NEURON_RT_NUM_CORES")
    try:
        if listed:
            found: list[int] = []
            for part in listed.split(","):
                first, _, last = part.partition("-")
                found += range(int(first), int(last or first) + 1)
            if not found or len(set(found)) != len(found) or min(found) < 0:
                raise ValueError
            return found
        if number:
            if int(number) < 1:
                raise ValueError
            return list(range(int(number)))
    except ValueError:
        raise NeuronError(
            "NIR_TORCH005",
            f"NEURON_RT_VISIBLE_CORES='{listed or ''}', NEURON_RT_NUM_CORES='{number or ''}' "
            "do not name cores",
            help="write NEURON_RT_VISIBLE_CORES=0-3 or NEURON_RT_NUM_CORES=4",
        ) from None
    return list(range(DEFAULT_CORES))


def core_count() -> int:
    """Return the number of cores."""
    return len(visible_cores())


def next_core() -> tuple[int, int]:
    """Return (first core, number of cores) of a model that is loaded now: those of the context,
    else one core, each in turn.
    """
    if _chosen:
        return _chosen[-1]
    with _lock:
        return next(_next) % core_count(), 1


def check_range(start: int, number: int) -> tuple[int, int]:
    """(first core, number of cores): -1 is core 0 for the start and all that follow for the number.
    Raises RuntimeError if there is no such core, ValueError for a bad number.
    """
    total = core_count()
    start = 0 if start == -1 else start
    if not 0 <= start < total:
        raise RuntimeError(f"there is no NeuronCore {start}: {total} are visible")
    number = total - start if number == -1 else number
    if not 1 <= number <= total - start:
        raise ValueError(
            f"nc_count = {number} is not possible from NeuronCore {start} on: {total} are visible"
        )
    return start, number


@contextmanager
def neuron_cores_context(start_nc: int = -1, nc_count: int = -1) -> Iterator[None]:
    """Put models that torch.jit.load loads inside this context on these cores. Not thread-safe."""
    start, number = check_range(start_nc, nc_count)
    _chosen.append((start, number))
    try:
        yield
    finally:
        _chosen.pop()


@contextmanager
def multicore_context() -> Iterator[None]:
    """Put models that torch.jit.load loads inside this context on all cores."""
    with neuron_cores_context(0, -1):
        yield
