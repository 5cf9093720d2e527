"""`Optimization`: passes over a model before it is compiled."""

from collections.abc import Callable, Collection, Sequence
from enum import Enum
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from neuronir.frontends.torch.export import Wrapped


class Optimization(Enum):
    """The possible elements of `optimizations` of `trace`.

    FLOAT32_TO_FLOAT16: inputs and results of type float32 become float16, which halves the
    transferred bytes. The traced model accepts both types and returns float16.
    """

    FLOAT32_TO_FLOAT16 = "FLOAT32_TO_FLOAT16"


class Halved(Wrapped):
    """A model with float16 inputs and results instead of float32; its mode is that of the model."""

    def __init__(self, func: Callable[..., Any], examples: Sequence[Any]) -> None:
        super().__init__(func)
        self._types = [t.dtype for t in pytree.tree_leaves(tuple(examples))]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model in its own types."""
        flat, spec = pytree.tree_flatten(args)
        given = [t.to(dtype) for t, dtype in zip(flat, self._types, strict=True)]
        return _halved(super().forward(*pytree.tree_unflatten(given, spec), **kwargs))


def halved(func: Callable[..., Any], examples: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """(the model, the example inputs) with float16 for float32."""
    made = Halved(func, examples)
    made.training = isinstance(func, nn.Module) and func.training
    return made, _halved(tuple(examples))


def check_optimizations(given: Collection[Any]) -> None:
    """Raise TypeError for anything but an Optimization."""
    for one in given:
        if not isinstance(one, Optimization):
            raise TypeError(f"optimizations: {one!r} is not an Optimization")


def _halved(values: Any) -> Any:
    """Return a structure with float16 for each float32 tensor."""

    def half(value: Any) -> Any:
        single = isinstance(value, torch.Tensor) and value.dtype == torch.float32
        return value.to(torch.float16) if single else value

    return pytree.tree_map(half, values)
