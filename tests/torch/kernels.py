"""Functions that TorchScript compiles: it knows `List`, not `list`."""
# ruff: noqa: B905, UP006, UP035

from typing import List, Tuple

import torch
from torch import Tensor


def pad_kernel(tensor_list: List[Tensor]) -> Tuple[List[Tensor], Tensor]:
    """Pad dimension 1 to 4 or 8."""
    length = tensor_list[0].shape[1]
    padded: List[Tensor] = []
    index = 0
    for i, size in enumerate([4, 8]):
        if length <= size and len(padded) == 0:
            index = i
            for tensor in tensor_list:
                padded.append(torch.nn.functional.pad(tensor, [0, size - length]))
    return padded, torch.tensor([index])


def choose(tensor_list: List[Tensor]) -> Tuple[List[Tensor], Tensor]:
    """Bucket 0 for two elements, 1 for four."""
    return tensor_list, torch.tensor([tensor_list[0].shape[0] // 2 - 1])


def last_rows(shapes: List[List[List[int]]], states: List[Tensor], index: Tensor) -> List[Tensor]:
    """The last elements of each state, as views."""
    found: List[Tensor] = []
    for state, shape in zip(states, shapes[int(index)]):
        found.append(state[state.shape[0] - shape[0] :])
    return found
