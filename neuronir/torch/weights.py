"""Replace weights stored outside the NEFF, without a compile."""

import warnings
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.torch.devices import check_device
from neuronir.torch.interface import models_of, neuron_of, parse_interface


def replace_weights(neuron_model: Any, weights: Any) -> None:
    """Replace, in place, the weights of a model that was traced with inline_weights_to_neff=False,
    and of all its buckets, by those of a module or state dict. Warns if the model holds
    none; raises NeuronError if one is missing or has another shape or dtype
    (NIR_TORCH010), or has no data (NIR_TORCH015).
    """
    if not isinstance(weights, (nn.Module, Mapping)):
        raise NeuronError(
            "NIR_TORCH010",
            f"the weights are of type {type(weights).__name__}: they must be a module or a state "
            "dict",
            help="pass model or model.state_dict()",
        )
    state = weights.state_dict() if isinstance(weights, nn.Module) else weights
    held = [
        (name, getattr(model.weights, place.removeprefix("weights.")))
        for model in models_of(neuron_model)
        for name, place in parse_interface(neuron_of(model).interface).held
        if place.startswith("weights.")
    ]
    if not held:
        warnings.warn(
            "the weights of the model are part of its NEFF: trace it with "
            "inline_weights_to_neff=False",
            stacklevel=2,
        )
        return
    missing = [name for name, _ in held if name not in state]
    if missing:
        raise NeuronError(
            "NIR_TORCH010",
            f"weight '{missing[0]}' is missing"
            + (f", and {len(missing) - 1} more" if len(missing) > 1 else ""),
            help="pass weights of the model that was traced, with the names of its state dict",
        )
    targets = [(own, _fitting(name, own, state[name])) for name, own in held]
    with torch.no_grad():
        for own, new in targets:  # all of them, once all are known to fit
            own.copy_(new)


def _fitting(name: str, own: Any, new: Any) -> Any:
    """Return a new weight (NIR_TORCH010, NIR_TORCH015)."""
    found = type(new).__name__
    if isinstance(new, torch.Tensor):
        check_device(new, f"weight '{name}'", "model.cpu()")
        if new.shape == own.shape and new.dtype == own.dtype:
            return new
        found = f"{new.dtype} {list(new.shape)}"
    raise NeuronError(
        "NIR_TORCH010",
        f"weight '{name}' must be {own.dtype} {list(own.shape)}, is {found}",
        help="trace the model again for other shapes or types",
    )
