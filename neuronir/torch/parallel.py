"""Split one batch over several cores."""

import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from neuronir.torch.batching import dynamic_batch
from neuronir.torch.cores import core_count
from neuronir.torch.interface import neuron_of, parse_interface
from neuronir.torch.placement import set_neuron_cores


class DataParallel(nn.Module):  # type: ignore[misc]
    """A traced model on several cores: its batch (dimension `dim`) is split among them.

    `device_ids` are numbers or texts `nc:0`; all cores by default. `num_workers` threads (two a
    core) take parts of `split_size` elements: the size that the model was traced for, or what
    gives each worker one part.
    """

    def __init__(
        self,
        model: Any,
        device_ids: Sequence[int | str] | None = None,
        dim: int = 0,
        set_dynamic_batching: bool = True,
    ) -> None:
        super().__init__()
        cores = range(core_count()) if device_ids is None else map(_core_number, device_ids)
        self.device_ids = list(cores)
        self.dim = dim
        self.num_workers = 2 * len(self.device_ids)
        self._traced_size = parse_interface(neuron_of(model).interface).given[0].shape[dim]
        self.split_size: int | None = None
        if set_dynamic_batching and dim == 0:
            dynamic_batch(model)
        self.replicas = []
        for core in self.device_ids:
            replica = copy.copy(model) if len(self.device_ids) == 1 else copy.deepcopy(model)
            set_neuron_cores(replica, core, 1)
            self.replicas.append(replica)

    def disable_dynamic_batching(self) -> None:
        """Accept only batches that divide into parts of the traced size."""
        for replica in self.replicas:
            neuron_of(replica).dynamic = False

    def forward(self, *inputs: Any) -> Any:
        """Split, run, join."""
        flat, spec = pytree.tree_flatten(inputs)
        total = flat[0].shape[self.dim]
        size = self.split_size or self._traced_size
        pieces = [torch.split(t, size, self.dim) for t in flat]
        count = -(-total // size)
        with ThreadPoolExecutor(self.num_workers) as pool:
            futures = []
            for i in range(count):
                arguments = pytree.tree_unflatten([piece[i] for piece in pieces], spec)
                replica = self.replicas[i % len(self.replicas)]
                futures.append(pool.submit(replica, *arguments))
            results = [future.result() for future in futures]
        parts = [pytree.tree_flatten(result) for result in results]
        joined = [
            torch.cat(column, self.dim) for column in zip(*(p[0] for p in parts), strict=True)
        ]
        return pytree.tree_unflatten(joined, parts[0][1])


def _core_number(device: int | str) -> int:
    """Return the number in `nc:0`, or a number itself (ValueError)."""
    text = str(device).removeprefix("nc:")
    if not text.isdecimal():
        raise ValueError(f"device_ids: '{device}' is not a NeuronCore; write 0 or 'nc:0'")
    return int(text)
