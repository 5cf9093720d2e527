"""Convert torch's dtypes and tensors to element types and arrays."""

from typing import Any

import ml_dtypes
import numpy as np
import torch
from numpy.typing import NDArray
from xdsl.ir import Attribute

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.support.dtypes import element_type
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph.block import refuse

Array = NDArray[Any]

_NUMPY: dict[Any, np.dtype[Any]] = {
    torch.bool: np.dtype(np.bool_),
    torch.int8: np.dtype(np.int8),
    torch.int16: np.dtype(np.int16),
    torch.int32: np.dtype(np.int32),
    torch.int64: np.dtype(np.int64),
    torch.uint8: np.dtype(np.uint8),
    torch.uint16: np.dtype(np.uint16),
    torch.uint32: np.dtype(np.uint32),
    torch.uint64: np.dtype(np.uint64),
    torch.float16: np.dtype(np.float16),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
    torch.float8_e4m3fn: np.dtype(ml_dtypes.float8_e4m3fn),
    torch.float8_e5m2: np.dtype(ml_dtypes.float8_e5m2),
    torch.complex64: np.dtype(np.complex64),
    torch.complex128: np.dtype(np.complex128),
}
_TORCH = {dtype: kind for kind, dtype in _NUMPY.items()}
_BITS = {1: torch.uint8, 2: torch.int16}
_FOREIGN = (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)
"""dtypes that numpy lacks: tensors are passed as integers with the same bits."""


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the numpy dtype of a torch dtype (NCC_ESPP004)."""
    found = _NUMPY.get(dtype)
    if found is None:
        raise NeuronError("NCC_ESPP004", f"data type {dtype} is not supported")
    return found


def torch_dtype(dtype: np.dtype[Any]) -> Any:
    """Return the torch dtype of a numpy dtype (NCC_ESPP004)."""
    found = _TORCH.get(np.dtype(dtype))
    if found is None:
        raise NeuronError("NCC_ESPP004", f"data type {dtype} is not a type of torch")
    return found


def element_of(dtype: Any) -> Attribute:
    """Return the element type of a torch dtype (NCC_ESPP004)."""
    return element_type(numpy_dtype(dtype))


def dims_of(tensor: Any) -> tuple[int, ...]:
    """Return the static shape of a tensor; raises NIR_IMP001 for a symbolic dimension."""
    for n in tensor.shape:
        if not isinstance(n, int):
            refuse(f"its shape {list(tensor.shape)} is not static: it depends on data")
    return tuple(tensor.shape)


def type_of(tensor: Any) -> Attribute:
    """Return the tensor type of a (fake) tensor."""
    return tensor_type(dims_of(tensor), element_of(tensor.dtype))


def array_of(tensor: Any) -> Array:
    """Return a tensor as an array that shares its memory if possible."""
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    if plain.layout != torch.strided:
        raise NeuronError("NCC_ESPP004", f"tensors of layout {plain.layout} are not supported")
    if plain.dtype in _FOREIGN:
        bits: Array = plain.view(_BITS[plain.element_size()]).numpy()
        return bits.view(numpy_dtype(plain.dtype))
    made: Array = plain.numpy()
    return made


def tensor_of(array: Array) -> Any:
    """Return an array as a tensor; it is copied unless it is writable."""
    kind = torch_dtype(array.dtype)
    plain = np.ascontiguousarray(array).reshape(array.shape)
    if not plain.flags.writeable:
        plain = plain.copy()
    if kind in _FOREIGN:
        bits = plain.view(np.uint8 if plain.itemsize == 1 else np.int16)
        return torch.from_numpy(bits).view(kind)
    return torch.from_numpy(plain)
