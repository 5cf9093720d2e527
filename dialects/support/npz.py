"""Read and write npz files of arguments and results: arg0, arg1, ... and out0, out1, ...

bfloat16 and fp8 arrays are stored raw, as uint16 and uint8, with their type under NAME__dtype.
Files are deterministic: the same arrays give the same bytes.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.inputs import open_input
from neuronir.dialects.support.output import help_for_url, input_error
from neuronir.dialects.support.stored import is_stored, read_stored

Array = NDArray[Any]
# The shape and numpy type of each array, in order.
Signature = Sequence[tuple[tuple[int, ...], np.dtype[Any]]]

_EPOCH = (1980, 1, 1, 0, 0, 0)
DTYPE_SUFFIX = "__dtype"
_RAW: dict[int, np.dtype[Any]] = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16)}


def pack(name: str, array: Array) -> dict[str, Array]:
    """Return the entries that store one array: itself, or raw bits and the name of its type."""
    array = np.asarray(array)
    narrow = hasattr(ml_dtypes, array.dtype.name)
    if array.dtype.kind in "biufc" and not narrow:
        return {name: array}
    raw = _RAW.get(array.dtype.itemsize)
    if raw is None or not narrow:
        raise NeuronError(
            "NIR_NPZ001",
            f"array {name} has type {array.dtype}, which an npz file cannot hold",
            help="supported: bool, integers, floats and complex numbers of numpy, bfloat16, fp8",
        )
    bits = np.ascontiguousarray(array).view(raw).reshape(array.shape)
    return {name: bits, name + DTYPE_SUFFIX: np.array(array.dtype.name)}


def unpack(entries: Mapping[str, Array], name: str) -> Array:
    """Return the array stored by `pack(name, array)`."""
    array = entries[name]
    if name + DTYPE_SUFFIX not in entries:
        return array
    type_name = str(entries[name + DTYPE_SUFFIX])
    scalar = getattr(ml_dtypes, type_name, None) or np.sctypeDict.get(type_name)
    if scalar is None or np.dtype(scalar).itemsize != array.dtype.itemsize:
        raise NeuronError(
            "NIR_NPZ002",
            f"{name}{DTYPE_SUFFIX} is {type_name!r}, which is not a type of "
            f"{array.dtype.itemsize} byte(s)",
            help="bfloat16 is stored as uint16, the float8 types as uint8",
        )
    return np.ascontiguousarray(array).view(np.dtype(scalar)).reshape(array.shape)


def load_npz(path: str | Path) -> dict[str, Array]:
    """Return all stored entries of a file (raw bits and NAME__dtype separately)."""
    try:
        with open_input(path) as file, np.load(file, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise NeuronError(
                    "NIR_NPZ003",
                    f"{path} is a single array, not an npz file",
                    help="write it with numpy.savez(path, arg0=..., arg1=...)",
                )
            return _entries(archive, file.fileno())
    except FileNotFoundError as error:
        help = help_for_url(str(path))
        raise NeuronError("NIR_NPZ004", f"{path} does not exist", help=help) from error
    except (PermissionError, IsADirectoryError) as error:
        raise input_error(path, error) from error
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        # Data that numpy takes for a pickle is usually a file of another kind.
        reason = "it holds no arrays" if "pickle" in str(error) else error
        raise NeuronError(
            "NIR_NPZ003",
            f"{path} cannot be read as an npz file: {reason}",
            help="write it with numpy.savez(path, arg0=..., arg1=...)",
        ) from error


def _entries(archive: np.lib.npyio.NpzFile, descriptor: int) -> dict[str, Array]:
    """Return the arrays of an open file, in order; two threads read large uncompressed ones.

    Everything is read from the one open file, because the name may refer to another file meanwhile.
    """
    listed = [] if archive.zip is None else archive.zip.infolist()
    members = {member.filename: member for member in listed}
    stored = {
        name: member
        for name in archive.files
        if (member := members.get(f"{name}.npy")) is not None and is_stored(member)
    }
    with ThreadPoolExecutor(2) as pool:
        read = {
            name: pool.submit(read_stored, descriptor, member) for name, member in stored.items()
        }
        return {n: read[n].result() if n in read else archive[n] for n in archive.files}


def load_arrays(path: str | Path, prefix: str) -> list[Array]:
    """Return the arrays PREFIX0, PREFIX1, ... of a file, up to the first missing number."""
    return numbered(load_npz(path), prefix)


def numbered(entries: Mapping[str, Array], prefix: str) -> list[Array]:
    """Return the arrays PREFIX0, PREFIX1, ... of the entries of a file."""
    arrays: list[Array] = []
    while f"{prefix}{len(arrays)}" in entries:
        arrays.append(unpack(entries, f"{prefix}{len(arrays)}"))
    return arrays


def npz_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Return the bytes of an npz file of these arrays, in order; equal arrays give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            for key, entry in pack(name, array).items():
                payload = io.BytesIO()
                npy.write_array(payload, np.asarray(entry), version=(1, 0), allow_pickle=False)
                info = zipfile.ZipInfo(f"{key}.npy", _EPOCH)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                # Fixed, so that the bytes do not depend on the system that writes them.
                info.create_system = 3
                archive.writestr(info, payload.getvalue())
    return buffer.getvalue()


def save_npz(path: str | Path, arrays: Mapping[str, Array]) -> None:
    """Write `npz_bytes(arrays)`."""
    Path(path).write_bytes(npz_bytes(arrays))


def check_arguments(arrays: Sequence[Array], signature: Signature, source: str = "") -> None:
    """Raise NeuronError unless `arrays` has the count, shapes and types of a program's inputs."""
    where = f"{source}: " if source else ""
    if len(arrays) != len(signature):
        raise NeuronError(
            "NIR_NPZ005",
            f"{where}the program takes {len(signature)} arguments, {len(arrays)} were given",
            help="arguments are named arg0, arg1 ... in the order of the entry's parameters",
        )
    for i, (array, (shape, dtype)) in enumerate(zip(arrays, signature, strict=True)):
        if array.shape != tuple(shape):
            raise NeuronError(
                "NIR_NPZ006",
                f"{where}argument {i} has shape {_dims(array.shape)}, "
                f"the program takes {_dims(shape)}",
            )
        if array.dtype != dtype:
            raise NeuronError(
                "NIR_NPZ007",
                f"{where}argument {i} has type {array.dtype.name}, the program takes {dtype.name}",
                help="values are never converted silently; bfloat16 and float8 need NAME__dtype",
            )


def _dims(shape: Sequence[int]) -> str:
    return "[" + ", ".join(str(n) for n in shape) + "]"
