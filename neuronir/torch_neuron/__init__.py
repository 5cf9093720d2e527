"""PyTorch models on the simulated NeuronCore of Inf1: the interface of torch_neuron.

    import neuronir.torch_neuron as torch_neuron

    traced = torch_neuron.trace(model, example)    # operators that do not compile run on the host
    traced(example)
    torch.jit.save(traced, "model.pt")             # torch.jit.load needs this module imported

The module is also `torch.neuron`. It needs the package `torch` (`pip install 'neuronir[torch]'`).
"""

import sys
from types import SimpleNamespace

from neuronir.torch import (  # raises if torch is missing
    DataParallel,
    async_load,
    lazy_load,
    multicore_context,
    neuron_cores_context,
    profile,
    report,
    set_multicore,
    set_neuron_cores,
)
from neuronir.torch_neuron.analysis import analyze_model, get_supported_operations
from neuronir.torch_neuron.optimization import Optimization
from neuronir.torch_neuron.tracing import trace

experimental = SimpleNamespace(
    multicore_context=multicore_context,
    neuron_cores_context=neuron_cores_context,
    set_multicore=set_multicore,
    set_neuron_cores=set_neuron_cores,
)
"""The functions that place models on cores, by their published name."""

# `import torch` would be sorted above neuronir.torch, which reports that it is missing. The type of
# a module has no such attribute.
sys.modules["torch"].neuron = sys.modules[__name__]  # type: ignore[attr-defined]

__all__ = [
    "DataParallel",
    "Optimization",
    "analyze_model",
    "async_load",
    "experimental",
    "get_supported_operations",
    "lazy_load",
    "profile",
    "report",
    "trace",
]
