"""Replace weights stored outside the NEFF, without a compile."""

import warnings
from typing import Any

import torch
from torch import nn

from neuronir.dialects.support.errors import NeuronError
from neuronir.torch.interface import models_of, neuron_of, parse_interface


def replace_weights(neuron_model: Any, weights: Any) -> None:
    """Put the weights of a module or state dict into a model that was traced with
    inline_weights_to_neff=False, in place, and into all of its buckets. Warns if the model holds
    none; raises NeuronError if one is missing or has another shape or dtype (NIR_TORCH010).
    """
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
    targets = []
    for name, own in held:
        new = state.get(name)
        if new is None:
            raise NeuronError("NIR_TORCH010", f"weight '{name}' is missing")
        if new.shape != own.shape or new.dtype != own.dtype:
            raise NeuronError(
                "NIR_TORCH010",
                f"weight '{name}' must be {own.dtype} {list(own.shape)}, "
                f"is {new.dtype} {list(new.shape)}",
            )
        targets.append((own, new))
    with torch.no_grad():
        for own, new in targets:  # all of them, once all are known to fit
            own.copy_(new)
