"""Large constants: numpy arrays held beside the module, interned by content.

A module refers to an array by the hash of its dtype, shape and bytes, so equal weights are held
once, the reference is stable between processes, and comparing two constants never looks at bytes.
Of a large array a sample is hashed, a 64th of it; an array whose sample is like that of
another one is compared with it, and where it differs its key gets a number.
"""

import hashlib
from collections.abc import Iterable

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface

from neuronir.dialects.hlo.attributes import HloResourceAttr, string_attr
from neuronir.dialects.support.contiguous import contiguous
from neuronir.dialects.support.dtypes import element_type, from_hlo_name, hlo_name, np_dtype
from neuronir.dialects.support.errors import NeuronError

KEY_LENGTH = 32
"""Hexadecimal digits of SHA-256 in a key, after a letter: 128 bits."""

_LARGE = 1 << 20  # bytes from which on a sample is hashed: of each _STEP bytes the first _TAKEN
_STEP = 4096
_TAKEN = 64
_PIECE = 1 << 18  # elements that are looked at together: what a cache holds

Array = npt.NDArray[np.generic]

_STORE: dict[str, Array] = {}
_KEYS: dict[int, str] = {}
"""The keys of the arrays of the store by identity: they stay, and nobody can write to them."""
_FINITE: dict[int, bool] = {}


def _key_of(array: Array) -> str:
    header = f"{hlo_name(element_type(array.dtype))}{list(array.shape)}".encode()
    digest = hashlib.sha256(header)
    raw = array.reshape(-1).view(np.uint8)
    if raw.size >= _LARGE:
        whole = raw.size - raw.size % _STEP
        digest.update(np.ascontiguousarray(raw[:whole].reshape(-1, _STEP)[:, :_TAKEN]).data)
        raw = raw[whole:]
    digest.update(raw.data)
    # Keys are MLIR identifiers, so they begin with a letter.
    return "c" + digest.hexdigest()[:KEY_LENGTH]


def intern(array: Array, *, owned: bool = False) -> HloResourceAttr:
    """Hold an array for the life of the process; equal arrays get the same attribute.

    The array is copied only when it is not contiguous, or when somebody else could write to it:
    not where it is `owned`, which says that the caller gives it up.
    """
    key = _KEYS.get(id(array))
    if key is None:
        if not array.flags.c_contiguous:
            array = contiguous(array)
            owned = True
        key = _free_or_same(_key_of(array), array)
        if key not in _STORE:
            if array.flags.writeable:
                array = array if owned else array.copy()
                array.flags.writeable = False
            _hold(key, array)
    return HloResourceAttr(string_attr(key))


def _hold(key: str, array: Array) -> None:
    _STORE[key] = array
    _KEYS[id(array)] = key


def _free_or_same(key: str, array: Array) -> str:
    """The key, with a number where other arrays of the store have it."""
    number = 0
    found = key
    while (held := _STORE.get(found)) is not None and not _equal(held, array):
        number += 1
        found = f"{key}_{number}"
    return found


def _equal(held: Array, array: Array) -> bool:
    """Whether two arrays with the same hash hold the same bytes."""
    if held.nbytes < _LARGE:  # all of it was hashed
        return True
    a, b = (x.reshape(-1).view(np.uint8) for x in (held, array))
    starts = range(0, a.size, _PIECE)
    return all(np.array_equal(a[i : i + _PIECE], b[i : i + _PIECE]) for i in starts)


def all_finite(array: Array) -> bool:
    """Whether an array of floats holds neither infinities nor NaN; found once for held ones."""
    found = _FINITE.get(id(array))
    if found is None:
        found = _finite(array)
        if id(array) in _KEYS:
            _FINITE[id(array)] = found
    return found


def _finite(array: Array) -> bool:
    if array.dtype != ml_dtypes.bfloat16 or not array.flags.c_contiguous:
        return bool(np.isfinite(array).all())
    # ml_dtypes looks at numbers one by one; here an exponent of ones is what is not finite.
    bits = array.reshape(-1).view(np.uint16)
    pieces = (bits[i : i + _PIECE] for i in range(0, bits.size, _PIECE))
    return all(int((piece & 0x7FFF).max()) < 0x7F80 for piece in pieces)


def lookup(attr: HloResourceAttr) -> Array:
    """The array that a resource attribute stands for; read-only."""
    array = _STORE.get(attr.key.data)
    if array is None:
        raise NeuronError(
            "NIR_HLO020",
            f'the constant #hlo.resource<"{attr.key.data}"> is not in this module\'s resources',
            help="print the module together with its `dialect_resources` section",
        )
    return array


def _to_blob(array: Array) -> str:
    """Text of an array: hex of a header line `f32[2,3]` and a newline, then the bytes."""
    dims = ",".join(str(d) for d in array.shape)
    header = f"{hlo_name(element_type(array.dtype))}[{dims}]\n".encode()
    return "0x" + (header + array.tobytes()).hex()


def _from_blob(blob: str) -> Array:
    """The inverse of `_to_blob`; ValueError says what is wrong."""
    raw = bytes.fromhex(blob[2:])
    header, newline, data = raw.partition(b"\n")
    text = header.decode("ascii", errors="replace")
    if not newline or "[" not in text or not text.endswith("]"):
        raise ValueError("an hlo resource begins with its shape, such as f32[2,3]")
    name, dims_text = text[:-1].split("[", 1)
    dims = tuple(int(d) for d in dims_text.split(",") if d)
    try:
        dtype = np_dtype(from_hlo_name(name))
    except NeuronError as error:
        raise ValueError(error.message) from error
    array = np.frombuffer(data, dtype=dtype)
    if array.size != int(np.prod(dims, dtype=np.int64)):
        raise ValueError(f"{text} does not fit {len(data)} bytes")
    return array.reshape(dims)


class HloResources(OpAsmDialectInterface):
    """Carries resources through MLIR text, in the `dialect_resources` section of the file."""

    def declare_resource(self, key: str) -> str:
        """A key is the hash of its content: it never needs another name."""
        return key

    def parse_resource(self, key: str, val: str) -> None:
        """Take one resource of a file; its content must have the hash that its key says."""
        if not val.startswith("0x"):
            raise ValueError(f"a resource is a hex string, got {val[:20]!r}")
        array = _from_blob(val)
        base = _key_of(array)
        if key.partition("_")[0] != base:
            raise ValueError(f"the content of resource {key} has the hash {base}")
        held = _STORE.get(key)
        if held is None:
            _hold(key, array)
        elif not _equal(held, array):
            raise ValueError(f"there is another constant {key}, with the same hash")

    def lookup(self, key: str) -> str | None:
        """The text of a resource, if it is held."""
        array = _STORE.get(key)
        return None if array is None else _to_blob(array)

    def build_resources(self, keys: Iterable[str]) -> dict[str, str]:
        """The text of each resource that a printed module refers to."""
        return {key: _to_blob(_STORE[key]) for key in keys if key in _STORE}
