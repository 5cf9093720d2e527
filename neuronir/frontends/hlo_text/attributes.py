"""Decode the values of HLO instruction attributes to hlo properties."""

import re
from collections.abc import Callable
from math import prod

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, FloatAttr, f32
from xdsl.ir import Attribute

from neuronir.dialects.hlo.attributes import I64Array, i64_array, i64_attr, string_attr
from neuronir.dialects.support.errors import NeuronError

Properties = dict[str, Attribute]
Decoder = Callable[[str], Properties]
"""Maps the text of a value to the properties that it sets."""

MOST_DEVICES = 1 << 20
"""Limit of devices in the iota form of a list of groups."""
_ESCAPE = re.compile(r"((?:\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2}))+)|\\(.)", re.S)
_BYTE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2}))")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_IOTA = re.compile(r"\[([\d,\s]+)\]\s*<=\s*\[([\d,\s]+)\]\s*(?:T\(([\d,\s]+)\))?")
_SLICE = re.compile(r"\[\s*(-?\d+)\s*:\s*(-?\d+)\s*(?::\s*(-?\d+)\s*)?\]")
_DIM_LABELS = re.compile(r"([\w?]+)_([\w?]+)->([\w?]+)")


def malformed(name: str, value: str) -> NeuronError:
    """Create the error for an invalid attribute value."""
    return NeuronError("NIR_HLO007", f"malformed value of attribute {name}: {value[:80]}")


def unquote(text: str) -> str:
    """Return the text of a string literal with escapes resolved; unquoted text is unchanged."""
    if len(text) < 2 or text[0] != '"':
        return text

    def resolve(match: re.Match[str]) -> str:
        if match[1]:
            # Escaped numbers are bytes of UTF-8.
            found = _BYTE.findall(match[1])
            values = [int(octal, 8) & 255 if octal else int(digits, 16) for octal, digits in found]
            return bytes(values).decode("utf-8", "replace")
        return _SIMPLE.get(match[2], match[2])

    inner = text[1:-1]
    return _ESCAPE.sub(resolve, inner) if "\\" in inner else inner


def int_list(text: str) -> list[int]:
    """Parse `{1,2}` or `{}`."""
    inner = text.strip().strip("{}").strip()
    return [int(part) for part in inner.split(",")] if inner else []


def indices(name: str) -> Decoder:
    """Parse a list of indices."""
    return lambda value: {name: i64_array(int_list(value))}


def first_index(name: str) -> Decoder:
    """Parse a list of one index to an integer."""

    def decode(value: str) -> Properties:
        (index,) = int_list(value)
        return {name: i64_attr(index)}

    return decode


def integer(name: str) -> Decoder:
    """Parse an integer."""
    return lambda value: {name: i64_attr(int(value))}


def boolean(name: str) -> Decoder:
    """Parse true or false."""

    def decode(value: str) -> Properties:
        if value not in ("true", "false"):
            raise ValueError(value)
        return {name: BoolAttr.from_bool(value == "true")}

    return decode


def real(name: str) -> Decoder:
    """Parse a float32 value."""
    return lambda value: {name: FloatAttr(float(value), f32)}


def word(name: str) -> Decoder:
    """Parse a word or a string."""
    return lambda value: {name: string_attr(unquote(value))}


def words(name: str) -> Decoder:
    """Parse `{highest,default}`."""

    def decode(value: str) -> Properties:
        parts = [p.strip() for p in value.strip("{}").split(",") if p.strip()]
        return {name: ArrayAttr([string_attr(p) for p in parts])}

    return decode


def groups(name: str) -> Decoder:
    """Parse `{{0,1},{2,3}}` or the iota form `[2,2]<=[4]`, `[2,2]<=[2,2]T(1,0)`."""

    def decode(value: str) -> Properties:
        lists: list[I64Array]
        if match := _IOTA.fullmatch(value):
            shape, dims = int_list(match[1]), int_list(match[2])
            if prod(dims) > MOST_DEVICES:
                raise ValueError(value)
            array = np.arange(prod(dims)).reshape(dims)
            if match[3]:
                array = array.transpose(int_list(match[3]))
            lists = [i64_array(row) for row in array.reshape(shape[0], -1).tolist()]
        else:
            inner = value.strip()[1:-1]
            lists = [i64_array(int_list(part)) for part in re.findall(r"\{([\d,\s-]*)\}", inner)]
            if not lists and inner.strip():
                raise ValueError(value)
        return {name: ArrayAttr(lists)}

    return decode


def slice_ranges(value: str) -> Properties:
    """Parse `{[0:2:1], [1:3]}`."""
    found = _SLICE.findall(value)
    if len(found) != value.count("["):
        raise ValueError(value)
    return {
        "start_indices": i64_array(int(low) for low, _, _ in found),
        "limit_indices": i64_array(int(high) for _, high, _ in found),
        "strides": i64_array(int(step or 1) for _, _, step in found),
    }


def pad_config(value: str) -> Properties:
    """Parse `0_0_0x1_2`: low, high and optional interior padding of each dimension."""
    low: list[int] = []
    high: list[int] = []
    interior: list[int] = []
    for dimension in value.split("x") if value else ():
        numbers = [int(n) for n in dimension.split("_")]
        if len(numbers) not in (2, 3):
            raise ValueError(value)
        low.append(numbers[0])
        high.append(numbers[1])
        interior.append(numbers[2] if len(numbers) == 3 else 0)
    return {
        "edge_padding_low": i64_array(low),
        "edge_padding_high": i64_array(high),
        "interior_padding": i64_array(interior),
    }


def _window_fields(value: str) -> dict[str, list[int]]:
    """Parse the fields of `{size=3x3 stride=2x2 pad=0_1x0_1}`; padding as flat low, high pairs."""
    fields: dict[str, list[int]] = {}
    for item in value.strip().strip("{}").split():
        name, equals, numbers = item.partition("=")
        if not equals or name not in _WINDOW_FIELDS:
            raise ValueError(value)
        parts = re.split("[x_]", numbers) if name == "pad" else numbers.split("x")
        fields[name] = [int(n) for n in parts if n]
    rank = len(fields.get("size", []))
    for name, default in _WINDOW_FIELDS.items():
        fields.setdefault(name, [default] * (2 * rank if name == "pad" else rank))
        if len(fields[name]) != (2 * rank if name == "pad" else rank):
            raise ValueError(value)
    return fields


_WINDOW_FIELDS = {
    "size": 1,
    "stride": 1,
    "pad": 0,
    "lhs_dilate": 1,
    "rhs_dilate": 1,
    "rhs_reversal": 0,
}


def conv_window(value: str) -> Properties:
    """Parse the window of a convolution; its size is that of the kernel and is dropped."""
    fields = _window_fields(value)
    return {
        "window_strides": i64_array(fields["stride"]),
        "padding": i64_array(fields["pad"]),
        "lhs_dilation": i64_array(fields["lhs_dilate"]),
        "rhs_dilation": i64_array(fields["rhs_dilate"]),
        "window_reversal": i64_array(fields["rhs_reversal"]),
    }


def reduce_window(value: str) -> Properties:
    """Parse the window of a reduce-window."""
    fields = _window_fields(value)
    return {
        "window_dimensions": i64_array(fields["size"]),
        "window_strides": i64_array(fields["stride"]),
        "base_dilations": i64_array(fields["lhs_dilate"]),
        "window_dilations": i64_array(fields["rhs_dilate"]),
        "padding": i64_array(fields["pad"]),
    }


def scatter_window(value: str) -> Properties:
    """Parse the window of a select-and-scatter, which has no dilation."""
    fields = _window_fields(value)
    if set(fields["lhs_dilate"]) | set(fields["rhs_dilate"]) > {1}:
        raise ValueError(value)
    return {
        "window_dimensions": i64_array(fields["size"]),
        "window_strides": i64_array(fields["stride"]),
        "padding": i64_array(fields["pad"]),
    }


def dim_labels(value: str) -> Properties:
    """Parse `b01f_01io->b01f`: the batch, feature and spatial dimensions."""
    match = _DIM_LABELS.fullmatch(value)
    if match is None:
        raise ValueError(value)
    spatial = len(match[1]) - 2
    digits = [str(i) for i in range(spatial)]
    for labels, letters in ((match[1], "bf"), (match[2], "io"), (match[3], "bf")):
        if sorted(labels) != sorted([*digits, *letters]):
            raise ValueError(value)
    lhs, rhs, out = match[1], match[2], match[3]
    return {
        "input_batch_dim": i64_attr(lhs.index("b")),
        "input_feature_dim": i64_attr(lhs.index("f")),
        "input_spatial_dims": i64_array(lhs.index(d) for d in digits),
        "kernel_input_feature_dim": i64_attr(rhs.index("i")),
        "kernel_output_feature_dim": i64_attr(rhs.index("o")),
        "kernel_spatial_dims": i64_array(rhs.index(d) for d in digits),
        "output_batch_dim": i64_attr(out.index("b")),
        "output_feature_dim": i64_attr(out.index("f")),
        "output_spatial_dims": i64_array(out.index(d) for d in digits),
    }
