"""Cache loaded models: the program of a NEFF lives as long as the tensor that holds it."""

import threading
from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from neuronir.api import load_bytes
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.torch.devices import check_device
from neuronir.frontends.torch.types import array_of, tensor_of
from neuronir.torch.interface import Interface, Spec

RUNS: Counter[int] = Counter()
"""How many runs each core has executed."""


class Loaded:
    """A model on its cores."""

    def __init__(self, neff: Any) -> None:
        raw = neff.detach().cpu().contiguous().numpy().data
        self.executable = load_bytes(memoryview(raw).cast("B"), "the traced model")
        self._turn = count()

    def core(self, first: int, number: int) -> int:
        """Return the core of the next run: the model's cores take turns."""
        return first + next(self._turn) % max(1, number)

    def run(self, tensors: Sequence[Any], interface: Interface, core: int) -> list[Any]:
        """Return the results for tensors that fit."""
        RUNS[core] += 1
        names = self.executable.inputs
        arrays = [array_of(t) for t in tensors]
        found = self.executable(*arrays[: len(names)])
        results = [tensor_of(array) for array in found.values()]
        return [
            r.to(getattr(torch, s.dtype)) for r, s in zip(results, interface.outputs, strict=True)
        ]


_LOADED: dict[int, tuple[Any, Loaded]] = {}
_lock = threading.Lock()


def loaded(neff: Any) -> Loaded:
    """Return the model in a tensor of bytes, which is read once and cached as long as the
    tensor.
    """
    storage = neff.untyped_storage()
    key = storage._cdata
    with _lock:
        known = _LOADED.get(key)
        if known is not None and not known[0].expired():
            return known[1]
        for old in [k for k, (reference, _) in _LOADED.items() if reference.expired()]:
            del _LOADED[old]
        model = Loaded(neff)
        _LOADED[key] = (StorageWeakRef(storage), model)
        return model


def check_tensor(tensor: Any, spec: Spec, what: str) -> None:
    """Raise NIR_TORCH007 if the model was not traced for a tensor like this, NIR_TORCH015 if it is
    not on the CPU.
    """
    check_device(tensor, what, "x.cpu(); the call transfers it to the core")
    dtype = str(tensor.dtype).removeprefix("torch.")
    if tuple(tensor.shape) != spec.shape or dtype != spec.dtype:
        raise NeuronError(
            "NIR_TORCH007",
            f"{what} must be {spec}, is {dtype} {list(tensor.shape)}",
            help="trace the model with example inputs of this shape and type "
            "(neuronir.torch.dynamic_batch frees the first dimension)",
        )


def check_inputs(tensors: Sequence[Any], interface: Interface) -> None:
    """Raise NIR_TORCH007 or NIR_TORCH015 if the model was not traced for inputs like these."""
    if len(tensors) != len(interface.inputs):
        raise NeuronError(
            "NIR_TORCH007",
            f"the model takes {len(interface.given)} tensors, "
            f"{len(tensors) - len(interface.held)} are given",
        )
    for i, (tensor, spec) in enumerate(zip(tensors, interface.inputs, strict=True)):
        held = i >= len(interface.given)
        what = f"the held '{spec.name}'" if held else f"input {i} ('{spec.name}')"
        check_tensor(tensor, spec, what)
