"""Describe a traced model, in the file that torch.jit.save writes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, takewhile
from typing import Any

from neuronir.dialects.support.errors import NeuronError

VERSION = 1
"""Version of the text; a reader rejects later ones."""


@dataclass(frozen=True)
class Spec:
    """A tensor of the model: its name, shape, and dtype as torch names it (`float32`)."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


@dataclass(frozen=True)
class Interface:
    """The inputs of the compiled model, of which the last `len(held)` are held by the module
    (weights and states), and its results."""

    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    held: tuple[tuple[str, str], ...]
    """(name in the model's state dict, name in the traced module: weights.w0, states.s0)."""
    target: str

    @property
    def given(self) -> tuple[Spec, ...]:
        """The inputs that the caller passes."""
        return self.inputs[: len(self.inputs) - len(self.held)]

    def text(self) -> str:
        """Return the description as JSON."""

        def listed(specs: Sequence[Spec]) -> list[Any]:
            return [[s.name, list(s.shape), s.dtype] for s in specs]

        return json.dumps(
            {
                "version": VERSION,
                "inputs": listed(self.inputs),
                "outputs": listed(self.outputs),
                "held": [list(pair) for pair in self.held],
                "target": self.target,
            }
        )


@lru_cache(64)
def parse_interface(text: str) -> Interface:
    """Return the interface from its text (raises NIR_TORCH004 if that is of a later version)."""
    found = json.loads(text)
    if found["version"] > VERSION:
        raise NeuronError(
            "NIR_TORCH004",
            f"the model was traced by a later version (format {found['version']}, known is "
            f"{VERSION})",
            help="install a newer neuronir, or trace the model again",
        )

    def specs(key: str) -> tuple[Spec, ...]:
        return tuple(Spec(name, tuple(dims), dtype) for name, dims, dtype in found[key])

    held = tuple((name, place) for name, place in found["held"])
    return Interface(specs("inputs"), specs("outputs"), held, found["target"])


def neuron_of(model: Any) -> Any:
    """Return the part of a traced model that holds the NEFF; raises ValueError if there are
    several.
    """
    if hasattr(model, "neuron"):
        return model.neuron
    if hasattr(model, "bucket0"):
        raise ValueError("this is not possible for a model in buckets; take model.bucket0")
    if hasattr(model, "part0"):
        raise ValueError("this is not possible for a partitioned model, which has several NEFFs")
    raise ValueError(f"a traced model is needed, not a {type(model).__name__}")


def models_of(model: Any) -> list[Any]:
    """Return the models of the buckets, or the traced model itself."""
    buckets = (getattr(model, f"bucket{i}", None) for i in count())
    return list(takewhile(lambda one: one is not None, buckets)) or [model]


def neurons_of(model: Any) -> list[Any]:
    """Return the parts of a traced model that hold NEFFs: one, or one for each bucket."""
    return [neuron_of(one) for one in models_of(model)]
