"""Write nested arguments and results as TorchScript."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from neuronir.dialects.support.errors import NeuronError


def type_text(value: Any, what: str) -> str:
    """Return the TorchScript type of an argument (raises NIR_TORCH009 if it contains anything but
    tensors).
    """
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if isinstance(value, tuple) and value:
        inner = ", ".join(type_text(v, what) for v in value)
        return f"Tuple[{inner}]"
    if isinstance(value, list) and value:
        return f"List[{_one_type(value, what)}]"
    if isinstance(value, Mapping) and value and all(isinstance(k, str) for k in value):
        return f"Dict[str, {_one_type(list(value.values()), what)}]"
    raise NeuronError(
        "NIR_TORCH009",
        f"{what} is of type {type(value).__name__}: arguments must be tensors, or tuples, lists or "
        "dictionaries of tensors",
        help="bind other values first, as in trace(lambda x: model(x, 3), x)",
    )


def _one_type(values: Sequence[Any], what: str) -> str:
    types = [type_text(v, what) for v in values]
    if len(set(types)) != 1:
        raise NeuronError(
            "NIR_TORCH009", f"{what}: all elements of a list or dictionary must have one type"
        )
    return types[0]


def leaves(value: Any, text: str) -> list[tuple[str, Any]]:
    """(expression, tensor) of each tensor in an argument of the name `text`, in order."""
    if isinstance(value, torch.Tensor):
        return [(text, value)]
    found: list[tuple[str, Any]] = []
    items = value.items() if isinstance(value, Mapping) else enumerate(value)
    for key, inner in items:
        found += leaves(inner, f"{text}[{key!r}]")
    return found


def cast_leaves(value: Any, accepted: Any, text: str) -> list[tuple[str, Any]]:
    """Like `leaves`; if a tensor of `accepted` (a value of the same structure) has another float
    type, the expression accepts both types.
    """
    return [
        (own if t.dtype == other.dtype else f"torch.ops.neuron.halved({own}, {own!r})", t)
        for (own, t), (_, other) in zip(leaves(value, text), leaves(accepted, text), strict=True)
    ]


class Leaf:
    """A placeholder for a result: the expression that returns it."""

    def __init__(self, text: str) -> None:
        self.text = text


def result_text(value: Any) -> str:
    """Return the expression of a structure of leaves (NIR_TORCH009)."""
    if isinstance(value, Leaf):
        return value.text
    if isinstance(value, Mapping):
        pairs = ", ".join(
            f"{str(k)!r}: {result_text(v)}" for k, v in value.items() if v is not None
        )
        _check_dict(value)
        return "{" + pairs + "}"
    if isinstance(value, tuple):
        inner = ", ".join(result_text(v) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, list):
        return "[" + ", ".join(result_text(v) for v in value) + "]"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    raise NeuronError("NIR_TORCH009", f"a result of type {type(value).__name__} cannot be returned")


def _check_dict(value: Mapping[Any, Any]) -> None:
    for key, inner in value.items():
        if inner is not None and not isinstance(inner, Leaf):
            raise NeuronError(
                "NIR_TORCH009",
                f"result '{key}' is of type {type(inner).__name__}: a dictionary must hold tensors "
                "only",
                help="return a tuple, or tensors with separate names",
            )
