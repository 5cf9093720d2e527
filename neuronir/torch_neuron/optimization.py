"""`Optimization`: passes over a model before it is compiled."""

from collections.abc import Callable, Collection, Sequence
from enum import Enum
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree


class Optimization(Enum):
    """What `optimizations` of `trace` may list.

    FLOAT32_TO_FLOAT16: inputs and results of type float32 become float16, which halves the
    transferred bytes. The traced model accepts both types and returns float16.
    """

    FLOAT32_TO_FLOAT16 = "FLOAT32_TO_FLOAT16"


class Halved(nn.Module):  # type: ignore[misc]
    """A model with float16 inputs and results instead of float32."""

    def __init__(self, func: Callable[..., Any], examples: Sequence[Any]) -> None:
        super().__init__()
        if isinstance(func, nn.Module):
            self.func = func
        self._function = func
        self._types = [t.dtype for t in pytree.tree_leaves(tuple(examples))]

    def forward(self, *args: Any) -> Any:
        """Call the model in its own types."""
        flat, spec = pytree.tree_flatten(args)
        given = [t.to(dtype) for t, dtype in zip(flat, self._types, strict=True)]
        return _halved(self._function(*pytree.tree_unflatten(given, spec)))


def halved(func: Callable[..., Any], examples: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """(the model, the example inputs) with float16 for float32."""
    return Halved(func, examples).eval(), _halved(tuple(examples))


def check_optimizations(given: Collection[Any]) -> None:
    """Raise TypeError for anything but an Optimization."""
    for one in given:
        if not isinstance(one, Optimization):
            raise TypeError(f"optimizations: {one!r} is not an Optimization")


def _halved(values: Any) -> Any:
    """A structure with float16 for each float32 tensor."""

    def half(value: Any) -> Any:
        single = isinstance(value, torch.Tensor) and value.dtype == torch.float32
        return value.to(torch.float16) if single else value

    return pytree.tree_map(half, values)
