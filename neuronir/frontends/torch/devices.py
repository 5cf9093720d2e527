"""Check that tensors are dense and on the CPU, before a model is captured."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from neuronir.dialects.support.errors import NeuronError


def check_devices(module: nn.Module, arguments: Iterable[Any]) -> None:
    """Raise NIR_TORCH015 for a parameter, buffer or argument on another device than the CPU, and
    NCC_ESPP004 for an argument that is not dense.
    """
    for kind, named in (("parameter", module.named_parameters), ("buffer", module.named_buffers)):
        for name, tensor in named():
            check_device(tensor, f"{kind} '{name}'", "model.cpu()")
    for i, argument in enumerate(arguments):
        for tensor in pytree.tree_leaves(argument):
            if isinstance(tensor, torch.Tensor):
                check_device(tensor, f"example input {i}", "example.cpu()")
                check_layout(tensor, f"example input {i}")


def check_layout(tensor: Any, what: str) -> None:
    """Raise NCC_ESPP004 if a tensor is not dense."""
    if tensor.layout != torch.strided:
        raise NeuronError(
            "NCC_ESPP004",
            f"{what} has layout {tensor.layout}, which is not supported",
            help="pass a dense tensor: x.to_dense()",
        )


def check_device(tensor: Any, what: str, move: str) -> None:
    """Raise NIR_TORCH015 if a tensor is not on the CPU; `move` is the code that moves it there."""
    if tensor.device.type == "cpu":
        return
    help = f"move it to the CPU, whatever the target is: {move}"
    if tensor.device.type == "meta":
        help = "a tensor on device 'meta' has no data: load or initialise it on the CPU"
    message = f"{what} is on device '{tensor.device}', and must be on the CPU"
    raise NeuronError("NIR_TORCH015", message, help=help)
