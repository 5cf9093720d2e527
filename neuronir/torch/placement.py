"""Place traced models on cores, and control when they are loaded."""

from typing import Any

from neuronir.torch.cores import check_range
from neuronir.torch.interface import neurons_of


def move_trace_to_device(trace: Any, device_id: int) -> None:
    """Place a traced model with its weights on a core; modifies the model."""
    set_neuron_cores(trace, device_id, 1)


def set_neuron_cores(trace: Any, start_nc: int = -1, nc_count: int = -1) -> None:
    """Place a traced model on cores, which its calls use in turn; modifies the model. Raises
    RuntimeError if
    there is no such core, ValueError for a bad count.
    """
    place = check_range(start_nc, nc_count)
    for neuron in neurons_of(trace):
        neuron.core, neuron.cores = place


def set_multicore(trace: Any) -> None:
    """Place a traced model on all cores; modifies the model."""
    set_neuron_cores(trace, 0, -1)


def lazy_load(trace: Any, enable_lazy_load: bool = True) -> None:
    """Load the model at its first call, after it was saved and loaded."""
    for neuron in neurons_of(trace):
        neuron.lazy = bool(enable_lazy_load)


def async_load(trace: Any, enable_async_load: bool = True) -> None:
    """Load the model in a background thread, after it was saved and loaded."""
    for neuron in neurons_of(trace):
        neuron.background = bool(enable_async_load)
