"""Store large constants as numpy arrays outside the module, interned by content.

A module refers to an array by the hash of its dtype, shape and bytes. Equal weights are therefore
stored once, references are stable between processes, and constants are compared without reading
their bytes. For a large array, only a sample of 8 KiB is hashed. If two samples are equal, the
arrays are compared, and a number is appended to the key of an array that differs. Large arrays may
be lazy (`lazy.py`): they have the key of the array that they represent, and are evaluated on the
first read.
"""

import hashlib
from collections.abc import Callable, Iterable
from functools import lru_cache

import ml_dtypes
import numpy as np
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface

from neuronir.dialects.hlo.attributes import HloResourceAttr, string_attr
from neuronir.dialects.hlo.contents import Array, Content, content_of, content_with, hold
from neuronir.dialects.support.contiguous import contiguous
from neuronir.dialects.support.dtypes import element_type, from_hlo_name, hlo_name, np_dtype
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.lazy import LazyArray
from neuronir.dialects.support.recipe import Places

KEY_LENGTH = 32
"""Hexadecimal digits of SHA-256 in a key, after a letter: 128 bits."""

# From this size, only a sample is hashed: _TAKEN bytes at _SAMPLES positions and at the end.
_LARGE = 1 << 20
_SAMPLES = 128
_TAKEN = 64
_PIECE = 1 << 16  # elements processed together, so that they fit in a cache

_SIZE = np.uint32(0x7FFFFFFF)  # the bits of a value without its sign
_ONE = np.uint32(1)


def is_large(nbytes: int) -> bool:
    """Return whether an array of this many bytes may be lazy."""
    return nbytes >= _LARGE


def key_of(array: Array | LazyArray) -> str:
    """Return the hash of the type, shape and values, as an MLIR identifier.

    For a large array, a sample of the values is hashed.
    """
    known = content_with(array)
    if known is not None:
        return known.key.partition("_")[0]
    digest = hashlib.sha256(_header(array.dtype, array.shape))
    if isinstance(array, LazyArray):
        digest.update(_sample(array).view(np.uint8).data)
        return "c" + digest.hexdigest()[:KEY_LENGTH]
    flat = array.reshape(-1)
    if is_large(array.nbytes):
        flat = flat[_places(array.size, array.itemsize).numbers]
    digest.update(flat.view(np.uint8).data)
    return "c" + digest.hexdigest()[:KEY_LENGTH]


def _sample(array: LazyArray) -> Array:
    """Return the elements of a large array whose bytes go into its key."""
    assert array.whole is not None and is_large(array.nbytes)
    return array.whole.sample(_places(array.size, array.itemsize))


@lru_cache(64)
def _header(dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> bytes:
    """Return the header that is hashed before the values of an array of this type and shape."""
    return f"{hlo_name(element_type(dtype))}{list(shape)}".encode()


@lru_cache(64)
def _places(size: int, width: int) -> Places:
    """Return the sample positions of a large array, given its number of elements and their size."""
    step = size * width // _SAMPLES // _TAKEN * _TAKEN
    starts = np.append(np.arange(_SAMPLES) * step, size * width - _TAKEN) // width
    return Places((starts[:, None] + np.arange(_TAKEN // width)).reshape(-1))


def intern(array: Array | LazyArray, *, owned: bool = False) -> HloResourceAttr:
    """Return an attribute that holds an array; equal arrays get equal attributes.

    The array is copied if it is not contiguous, or if the caller could still write to it (not
    `owned`). A lazy array is held unevaluated if it is large, whole, and not a copy of another one.
    """
    content = content_with(array)
    if content is None:
        if isinstance(array, LazyArray) and not _may_be_held(array):
            return intern(np.asarray(array), owned=owned)
        if isinstance(array, np.ndarray) and not array.flags.c_contiguous:
            array = contiguous(array)
            owned = True
        key = _free_or_same(key_of(array), array)
        content = content_of(key) or hold(key, _read_only(array, owned))
    return HloResourceAttr(string_attr(content.key))


def _read_only(array: Array | LazyArray, owned: bool) -> Array | LazyArray:
    if isinstance(array, np.ndarray) and array.flags.writeable:
        array = array if owned else array.copy()
        array.flags.writeable = False
    return array


def _may_be_held(array: LazyArray) -> bool:
    return array.whole is not None and not array.whole.copies and is_large(array.nbytes)


def receive(key: str, array: Array) -> Content:
    """Return the content with the key that another process has given it, which the caller keeps
    until attributes own it; raises ValueError if the hash of `array` is not what the key says.
    """
    base = key_of(array)
    if key.partition("_")[0] != base:
        raise ValueError(f"the content of resource {key} has the hash {base}")
    held = content_of(key)
    if held is None:
        return hold(key, array)
    if not _equal(held.array, array):
        raise ValueError(f"there is another constant {key}, with the same hash")
    return held


def _free_or_same(key: str, array: Array | LazyArray) -> str:
    """Return the key, with a number appended if other contents have it."""
    number = 0
    found = key
    while (held := content_of(found)) is not None and not _equal(held.array, array):
        number += 1
        found = f"{key}_{number}"
    return found


def _equal(held: Array | LazyArray, array: Array | LazyArray) -> bool:
    """Return whether two arrays with the same hash hold the same bytes."""
    if not is_large(held.nbytes):  # the whole array was hashed
        return True
    if isinstance(held, LazyArray) and isinstance(array, LazyArray):
        if held.whole and array.whole and held.whole.same(array.whole):
            return True
    held, array = np.asarray(held), np.asarray(array)
    a, b = (x.reshape(-1).view(np.uint8) for x in (held, array))
    starts = range(0, a.size, _PIECE)
    return all(np.array_equal(a[i : i + _PIECE], b[i : i + _PIECE]) for i in starts)


def all_finite(array: Array | LazyArray) -> bool:
    """Return whether an array of floats has no infinities or NaNs; cached for contents."""
    content = content_with(array)
    found = None if content is None else content.finite
    if found is None:
        if isinstance(array, LazyArray):
            # One more rounding changes less than 1/1000; for bf16, 1/256.
            found = largest(array) < 0.99 * float(ml_dtypes.finfo(array.dtype).max)
            found = found or _finite(np.asarray(array))
        else:
            found = _finite(array)
        if content is not None:
            content.finite = found
    return found


def has_negative_zero(array: Array | LazyArray) -> bool:
    """Return whether an array of floats has an element -0; cached for contents."""
    content = content_with(array)
    found = None if content is None else content.negative_zero
    if found is None:
        plain = np.asarray(array).reshape(-1)
        bits = plain.view(np.dtype(f"u{plain.itemsize}"))
        found = bool((bits == 1 << 8 * plain.itemsize - 1).any())
        if content is not None:
            content.negative_zero = found
    return found


def largest(array: Array | LazyArray) -> float:
    """Return the largest magnitude of an array of floats; infinity if it has an infinity or NaN.

    The result is cached for contents. For a lazy array it is a bound that ignores rounding.
    """
    if isinstance(array, LazyArray):
        return _bound(array, largest)
    content = content_with(array)
    known = None if content is None else content.largest
    if known is None:
        flat = array.reshape(-1)
        ends = [(float(p.min()), float(p.max())) for p in _pieces(flat)]
        known = float(np.max(np.abs(ends)))  # of numpy, which propagates NaN
        if content is not None:
            content.largest = known
    return known


class Magnitudes:
    """Collect the largest magnitude of fp32 values over several pieces of an array.

    Unless `least` is False, also collect the smallest magnitude that is not zero.
    """

    def __init__(self, *, least: bool = True) -> None:
        self._low = int(_SIZE)
        self._high = 0
        self._least = least

    def see(self, piece: Array) -> None:
        """Add the values of a contiguous piece."""
        if not piece.size:
            return
        # Floats of one sign have the order of their bits. With both signs, signed and unsigned
        # comparison give different maxima and minima, so both are needed.
        ordered = [piece.reshape(-1).view(kind) for kind in (np.int32, np.uint32)]
        self._high = max(self._high, *(int(np.maximum.reduce(x)) & int(_SIZE) for x in ordered))
        if not self._least:
            return
        smallest = min(int(np.minimum.reduce(x)) & int(_SIZE) for x in ordered)
        if smallest == 0:  # so that zero is never the smallest
            sizes = np.bitwise_and(ordered[1], _SIZE)
            smallest = int(np.minimum.reduce(np.subtract(sizes, _ONE, out=sizes))) + 1
        self._low = min(self._low, smallest)

    def found(self, array: Array) -> float:
        """Return the smallest magnitude; infinity if all values are zero or `least` was False.

        The results are cached for the array of a content.
        """
        low = np.inf if self._low == _SIZE else _number(self._low)
        content = content_with(array)
        if content is not None:
            content.largest = _number(self._high)
            if self._least:
                content.least = low
        return low


def least(array: Array | LazyArray) -> float:
    """Return the smallest nonzero magnitude of an fp32 array, in the form of `largest`.

    The result is infinity if all values are zero.
    """
    if isinstance(array, LazyArray):
        return _bound(array, least)
    content = content_with(array)
    known = None if content is None else content.least
    if known is None:
        seen = Magnitudes()
        for piece in _pieces(array.reshape(-1)):
            seen.see(piece)
        known = seen.found(array)
    return known


def _number(bits: int) -> float:
    return float(np.uint32(bits).view(np.float32))


def _bound(array: LazyArray, bound: Callable[[Array | LazyArray], float]) -> float:
    """Return a bound of a lazy array after its steps.

    Bounds of products are multiplied. For differences, the upper bounds are added, and nothing is
    known about the lower bound.
    """
    recipe = array.recipe
    if recipe is None:
        return bound(np.asarray(array))
    found = bound(recipe.base)
    for step in recipe.steps:
        if step.ufunc is np.multiply:
            found *= bound(step.numbers)
        else:
            found = found + bound(step.numbers) if bound is largest else 0.0
    return found


def _pieces(flat: Array) -> list[Array]:
    return [flat[i : i + _PIECE] for i in range(0, flat.size, _PIECE)]


def _finite(array: Array) -> bool:
    if not array.flags.c_contiguous:
        return bool(np.isfinite(array).all())
    if array.dtype != ml_dtypes.bfloat16:
        return all(bool(np.isfinite(piece).all()) for piece in _pieces(array.reshape(-1)))
    # ml_dtypes tests values one by one; here an exponent of all ones marks a value as not finite.
    bits = array.reshape(-1).view(np.uint16)
    pieces = (bits[i : i + _PIECE] for i in range(0, bits.size, _PIECE))
    return all(int((piece & 0x7FFF).max()) < 0x7F80 for piece in pieces)


def lookup(attr: HloResourceAttr) -> Array:
    """Return the read-only array of a resource attribute; a lazy array is evaluated and kept."""
    return _content(attr).evaluated()


def lookup_lazy(attr: HloResourceAttr) -> Array | LazyArray:
    """Return the read-only, possibly lazy array of a resource attribute."""
    return _content(attr).array


def _content(attr: HloResourceAttr) -> Content:
    content = content_of(attr.key.data)
    if content is None:
        raise NeuronError(
            "NIR_HLO020",
            f'the constant #hlo.resource<"{attr.key.data}"> is not in this module\'s resources',
            help="print the module together with its `dialect_resources` section",
        )
    return content


def _to_blob(array: Array) -> str:
    """Return the text of an array: hex of the header `f32[2,3]`, a newline, and the bytes."""
    dims = ",".join(str(d) for d in array.shape)
    header = f"{hlo_name(element_type(array.dtype))}[{dims}]\n".encode()
    return "0x" + (header + array.tobytes()).hex()


def _from_blob(blob: str) -> Array:
    """Invert `_to_blob`; the message of ValueError says what is wrong."""
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
    """Reads and writes resources in the `dialect_resources` section of MLIR text."""

    def declare_resource(self, key: str) -> str:
        """Declare a resource whose key is the hash of its content, so that it is never renamed."""
        return key

    def parse_resource(self, key: str, val: str) -> None:
        """Give the content of one resource of a file, which must have the hash in its key, to the
        attributes that name it.
        """
        if not val.startswith("0x"):
            raise ValueError(f"a resource is a hex string, got {val[:20]!r}")
        receive(key, _from_blob(val))

    def lookup(self, key: str) -> str | None:
        """Return the text of a resource, if an attribute owns its content."""
        content = content_of(key)
        return None if content is None else _to_blob(np.asarray(content.array))

    def build_resources(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the text of each resource to which a printed module refers."""
        found = {key: self.lookup(key) for key in keys}
        return {key: text for key, text in found.items() if text is not None}
