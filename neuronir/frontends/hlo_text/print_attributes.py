"""Print properties of hlo ops as HLO instruction attributes."""

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation

from neuronir.dialects.hlo.attributes import ints

Field = tuple[str, str]
"""The name and text of an HLO attribute."""

Encoder = Callable[[Operation], Iterator[Field]]

_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "'": "\\'"}
)


def quote(text: str) -> str:
    """Print a string literal."""
    return '"' + text.translate(_ESCAPES) + '"'


def braces(values: Sequence[int]) -> str:
    """Print `{1,2}`."""
    return "{" + ",".join(map(str, values)) + "}"


def plain(value: Attribute) -> str:
    """Print a property in HLO's form for its kind: 3, true, {1,2}, {{0,1}}, word."""
    if isinstance(value, StringAttr):
        return value.data
    if isinstance(value, FloatAttr):
        return f"{value.value.data:.9g}"
    if isinstance(value, IntegerAttr):
        if value.type == i1:
            return "true" if value.value.data else "false"
        return str(value.value.data)
    if isinstance(value, ArrayAttr):
        return "{" + ",".join(plain(v) for v in value.data) + "}"
    return braces(ints(value))


def same(*names: str, optional: tuple[str, ...] = ()) -> Encoder:
    """Print properties with the same name in HLO; `optional` ones are omitted if empty or false."""

    def encode(op: Operation) -> Iterator[Field]:
        for name in names:
            value = op.properties.get(name)
            if value is None:
                continue
            text = plain(value)
            if name in optional and text in ("{}", "false", "1"):
                continue
            yield name, text

    return encode


def renamed(prop: str, name: str) -> Encoder:
    """Print a property with another name in HLO."""

    def encode(op: Operation) -> Iterator[Field]:
        if (value := op.properties.get(prop)) is not None:
            yield name, plain(value)

    return encode


def quoted(prop: str, name: str) -> Encoder:
    """Print a string property that HLO quotes."""

    def encode(op: Operation) -> Iterator[Field]:
        if isinstance(value := op.properties.get(prop), StringAttr):
            yield name, quote(value.data)

    return encode


def listed(prop: str, name: str) -> Encoder:
    """Print an integer that HLO writes as a list of one."""

    def encode(op: Operation) -> Iterator[Field]:
        if isinstance(value := op.properties.get(prop), IntegerAttr):
            yield name, braces((value.value.data,))

    return encode


def _all(*encoders: Encoder) -> Encoder:
    def encode(op: Operation) -> Iterator[Field]:
        for encoder in encoders:
            yield from encoder(op)

    return encode


def _number(op: Operation, name: str) -> int:
    value = op.properties[name]
    assert isinstance(value, IntegerAttr)
    return value.value.data


def _slice(op: Operation) -> Iterator[Field]:
    ranges = zip(
        ints(op.properties["start_indices"]),
        ints(op.properties["limit_indices"]),
        ints(op.properties["strides"]),
        strict=True,
    )
    parts = [f"[{lo}:{hi}]" if step == 1 else f"[{lo}:{hi}:{step}]" for lo, hi, step in ranges]
    yield "slice", "{" + ", ".join(parts) + "}"


def _pad(op: Operation) -> Iterator[Field]:
    triples = zip(
        ints(op.properties["edge_padding_low"]),
        ints(op.properties["edge_padding_high"]),
        ints(op.properties["interior_padding"]),
        strict=True,
    )
    parts = [f"{lo}_{hi}_{mid}" if mid else f"{lo}_{hi}" for lo, hi, mid in triples]
    if parts:
        yield "padding", "x".join(parts)


def _window(op: Operation, size: Sequence[int], names: dict[str, str]) -> Iterator[Field]:
    """Print a window: its size, and the fields that differ from the default."""
    if not size:
        return
    parts = ["size=" + "x".join(map(str, size))]
    for field, prop in names.items():
        values = ints(op.properties[prop])
        if field == "pad":
            if any(values):
                pairs = zip(values[::2], values[1::2], strict=True)
                parts.append("pad=" + "x".join(f"{lo}_{hi}" for lo, hi in pairs))
        elif any(v != (0 if field == "rhs_reversal" else 1) for v in values):
            parts.append(f"{field}=" + "x".join(map(str, values)))
    yield "window", "{" + " ".join(parts) + "}"


def _convolution(op: Operation) -> Iterator[Field]:
    kernel = op.operands[1].type
    assert isinstance(kernel, TensorType)
    shape = kernel.get_shape()
    size = [shape[d] for d in ints(op.properties["kernel_spatial_dims"])]
    yield from _window(
        op,
        size,
        {
            "stride": "window_strides",
            "pad": "padding",
            "lhs_dilate": "lhs_dilation",
            "rhs_dilate": "rhs_dilation",
            "rhs_reversal": "window_reversal",
        },
    )
    labels: list[str] = []
    for side, first, second in (
        ("input", ("batch", "b"), ("feature", "f")),
        ("kernel", ("input_feature", "i"), ("output_feature", "o")),
        ("output", ("batch", "b"), ("feature", "f")),
    ):
        letters = [""] * (len(size) + 2)
        letters[_number(op, f"{side}_{first[0]}_dim")] = first[1]
        letters[_number(op, f"{side}_{second[0]}_dim")] = second[1]
        for digit, position in enumerate(ints(op.properties[f"{side}_spatial_dims"])):
            letters[position] = str(digit)
        labels.append("".join(letters))
    yield "dim_labels", f"{labels[0]}_{labels[1]}->{labels[2]}"
    counts = ("feature_group_count", "batch_group_count")
    yield from same(*counts, "operand_precision", optional=counts)(op)


def _reduce_window(op: Operation) -> Iterator[Field]:
    names = {"stride": "window_strides", "pad": "padding"}
    if "base_dilations" in op.properties:
        names |= {"lhs_dilate": "base_dilations", "rhs_dilate": "window_dilations"}
    yield from _window(op, ints(op.properties["window_dimensions"]), names)


def _infeed(op: Operation) -> Iterator[Field]:
    for name in ("infeed_config", "outfeed_config"):
        yield from quoted(name, name)(op)


_GROUPS = same("replica_groups", "channel_id", "use_global_device_ids", "constrain_layout")
_CHANNEL = same("channel_id", "is_host_transfer")
_BATCH_NORM = same("epsilon", "feature_index")
_PERMUTE = same("source_target_pairs", "channel_id")
_DIMENSIONS = same("dimensions")

ENCODERS: dict[str, Encoder] = {
    "reduce-precision": same("exponent_bits", "mantissa_bits"),
    "compare": _all(same("direction"), renamed("compare_type", "type")),
    "iota": same("iota_dimension"),
    "broadcast": _DIMENSIONS,
    "transpose": renamed("permutation", "dimensions"),
    "slice": _slice,
    "pad": _pad,
    "concatenate": listed("dimension", "dimensions"),
    "reverse": _DIMENSIONS,
    "dynamic-slice": renamed("slice_sizes", "dynamic_slice_sizes"),
    "get-dimension-size": listed("dimension", "dimensions"),
    "gather": same(
        "offset_dims",
        "collapsed_slice_dims",
        "start_index_map",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "index_vector_dim",
        "slice_sizes",
        "indices_are_sorted",
        optional=("operand_batching_dims", "start_indices_batching_dims", "indices_are_sorted"),
    ),
    "scatter": _all(
        same(
            "update_window_dims",
            "inserted_window_dims",
            "scatter_dims_to_operand_dims",
            "input_batching_dims",
            "scatter_indices_batching_dims",
            optional=("input_batching_dims", "scatter_indices_batching_dims"),
        ),
        same("index_vector_dim"),
        same(
            "indices_are_sorted",
            "unique_indices",
            optional=("indices_are_sorted", "unique_indices"),
        ),
    ),
    "dot": same(
        "lhs_batch_dims",
        "lhs_contracting_dims",
        "rhs_batch_dims",
        "rhs_contracting_dims",
        "operand_precision",
        "algorithm",
        optional=("lhs_batch_dims", "rhs_batch_dims"),
    ),
    "convolution": _convolution,
    "cholesky": same("lower"),
    "triangular-solve": same("left_side", "lower", "unit_diagonal", "transpose_a"),
    "fft": same("fft_type", "fft_length"),
    "reduce": _DIMENSIONS,
    "reduce-window": _reduce_window,
    "select-and-scatter": _reduce_window,
    "sort": _all(listed("dimension", "dimensions"), same("is_stable", optional=("is_stable",))),
    "map": _DIMENSIONS,
    "topk": same("k", "largest"),
    "get-tuple-element": same("index"),
    "fusion": same("kind"),
    "custom-call": quoted("call_target_name", "custom_call_target"),
    "rng": same("distribution"),
    "rng-bit-generator": same("algorithm"),
    "rng-get-and-update-state": same("delta"),
    "batch-norm-training": _BATCH_NORM,
    "batch-norm-inference": _BATCH_NORM,
    "batch-norm-grad": _BATCH_NORM,
    "all-reduce": _GROUPS,
    "all-reduce-start": _GROUPS,
    "all-gather": _all(_GROUPS, listed("dimension", "dimensions")),
    "all-gather-start": _all(_GROUPS, listed("dimension", "dimensions")),
    "reduce-scatter": _all(_GROUPS, listed("dimension", "dimensions")),
    "all-to-all": _all(_GROUPS, listed("dimension", "dimensions")),
    "collective-broadcast": _GROUPS,
    "collective-permute": _PERMUTE,
    "collective-permute-start": _PERMUTE,
    "send": _CHANNEL,
    "send-done": _CHANNEL,
    "recv": _CHANNEL,
    "recv-done": _CHANNEL,
    "infeed": _infeed,
    "outfeed": _infeed,
}


def encode_metadata(metadata: DictionaryAttr, has_frames: bool) -> str:
    """Print `{op_name="..." source_line=3}` without fields that the stack frame has."""
    parts: list[str] = []
    derived = ("source_file", "source_line") if "stack_frame_id" in metadata.data else ()
    for name, value in metadata.data.items():
        if name in derived and has_frames or name == "stack_frame_id" and not has_frames:
            continue
        if isinstance(value, StringAttr):
            text = value.data if value.data.startswith("{") else quote(value.data)
            parts.append(f"{name}={text}")
        elif isinstance(value, IntegerAttr):
            parts.append(f"{name}={value.value.data}")
    return "{" + " ".join(parts) + "}"
