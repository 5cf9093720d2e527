"""PyTorch models on simulated NeuronCores: the interface of torch_neuronx.

    import neuronir.torch as torch_neuronx

    traced = torch_neuronx.trace(model, example)   # a ScriptModule that holds the compiled model
    traced(example)                                # runs on the simulated core
    torch.jit.save(traced, "model.pt")             # torch.jit.load needs this module imported

It needs the package `torch` (`pip install 'neuronir[torch]'`).
"""

try:
    import torch as _torch
except ImportError as error:
    raise ImportError(
        "neuronir.torch needs PyTorch, which is not installed: pip install 'neuronir[torch]'"
    ) from error

from neuronir.torch.analysis import analyze
from neuronir.torch.batching import dynamic_batch
from neuronir.torch.buckets import (
    BucketModelConfig,
    bucket_model_trace,
    parallel_model_trace,
)
from neuronir.torch.config import PartitionerConfig
from neuronir.torch.cores import multicore_context, neuron_cores_context
from neuronir.torch.dynamo import compiled_graphs
from neuronir.torch.operators import register
from neuronir.torch.parallel import DataParallel
from neuronir.torch.placement import (
    async_load,
    lazy_load,
    move_trace_to_device,
    set_multicore,
    set_neuron_cores,
)
from neuronir.torch.reports import profile, report
from neuronir.torch.tracing import trace
from neuronir.torch.weights import replace_weights

assert _torch
register()

__all__ = [
    "BucketModelConfig",
    "DataParallel",
    "PartitionerConfig",
    "analyze",
    "async_load",
    "bucket_model_trace",
    "compiled_graphs",
    "dynamic_batch",
    "lazy_load",
    "move_trace_to_device",
    "multicore_context",
    "neuron_cores_context",
    "parallel_model_trace",
    "profile",
    "replace_weights",
    "report",
    "set_multicore",
    "set_neuron_cores",
    "trace",
]
