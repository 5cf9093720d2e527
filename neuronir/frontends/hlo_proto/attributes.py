"""Attributes of an instruction proto as the text of HLO, which the importer of text decodes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.hlo_text.print_attributes import quote

Names = Mapping[int, str]
"""Names of computations by id."""

PRECISIONS = ("default", "high", "highest")
ALGORITHMS = (
    "unset",
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
    "dot_bf16_bf16_f32_x9",
)
FFT_TYPES = ("FFT", "IFFT", "RFFT", "IRFFT")
TRANSPOSES = ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
DISTRIBUTIONS = ("rng_invalid", "rng_uniform", "rng_normal")
RNG_ALGORITHMS = ("rng_default", "rng_three_fry", "rng_philox")
_DIMENSIONS = frozenset(
    "broadcast transpose reduce reverse concatenate sort map get-dimension-size all-gather "
    "all-gather-start all-to-all reduce-scatter".split()
)
_CALLED = {
    **dict.fromkeys(
        "reduce map scatter sort reduce-window call all-reduce all-reduce-start "
        "reduce-scatter".split(),
        ("to_apply",),
    ),
    **dict.fromkeys(("fusion", "async-start", "async-update", "async-done"), ("calls",)),
    "while": ("body", "condition"),
    "select-and-scatter": ("select", "scatter"),
}
"""The attributes that name the computations of an instruction, in the order of the proto."""


def named(names: Sequence[str], number: int, field: str) -> str:
    """Return the name of an enumerator; raises NIR_HLO021 if it has none."""
    if not 0 <= number < len(names):
        raise NeuronError("NIR_HLO021", f"{field} {number} is not known")
    return names[number]


def listed(numbers: Iterable[Any]) -> str:
    """Return `{1,2}`."""
    return "{" + ",".join(map(str, numbers)) + "}"


def attributes_of(p: Any, computations: Names) -> Iterator[str]:
    """Yield `name=value` for each attribute of an instruction."""
    if p.opcode in _DIMENSIONS and (p.dimensions or p.opcode in ("broadcast", "reduce")):
        yield f"dimensions={listed(p.dimensions)}"
    special = _SPECIAL.get(p.opcode)
    if special is not None:
        yield from special(p)
    if p.window.dimensions:
        yield f"window={_window(p.window.dimensions)}"
    yield from _precision(p)
    yield from _called(p, computations)
    yield from _collective(p)
    if p.backend_config:
        text = p.backend_config.decode("utf-8", "replace")
        yield f"backend_config={text if text.startswith('{') else quote(text)}"
    if p.frontend_attributes.map:
        pairs = sorted(p.frontend_attributes.map.items())
        yield "frontend_attributes={" + ",".join(f"{k}={quote(v)}" for k, v in pairs) + "}"
    fields = [
        f"{field.name}={quote(value) if isinstance(value, str) else value}"
        for field, value in p.metadata.ListFields()
    ]
    if fields:
        yield "metadata={" + " ".join(fields) + "}"


def _window(dimensions: Any) -> str:
    def sizes(values: Iterable[Any]) -> str:
        return "x".join(map(str, values))

    return (
        f"{{size={sizes(d.size for d in dimensions)} stride={sizes(d.stride for d in dimensions)} "
        f"pad={sizes(f'{d.padding_low}_{d.padding_high}' for d in dimensions)} "
        f"lhs_dilate={sizes(d.base_dilation for d in dimensions)} "
        f"rhs_dilate={sizes(d.window_dilation for d in dimensions)} "
        f"rhs_reversal={sizes(int(d.window_reversal) for d in dimensions)}}}"
    )


def _precision(p: Any) -> Iterator[str]:
    known = p.precision_config
    if any(known.operand_precision):
        names = (named(PRECISIONS, n, "precision") for n in known.operand_precision)
        yield f"operand_precision={listed(names)}"
    if known.algorithm:
        yield f"algorithm={named(ALGORITHMS, known.algorithm, 'algorithm')}"


def _called(p: Any, computations: Names) -> Iterator[str]:
    names = [computations[i] for i in p.called_computation_ids]
    if p.opcode in _CALLED:
        for attribute, name in zip(_CALLED[p.opcode], names, strict=False):
            yield f"{attribute}={name}"
    elif names:
        kind = "branch_computations" if p.opcode == "conditional" else "called_computations"
        yield f"{kind}={listed(names)}"


def _collective(p: Any) -> Iterator[str]:
    if p.channel_id > 0:
        yield f"channel_id={p.channel_id}"
    iota = p.collective_device_list.iota_replica_group_list
    groups = p.collective_device_list.replica_groups or p.replica_groups
    if iota.num_replica_groups:
        text = f"[{iota.num_replica_groups},{iota.num_devices_per_group}]"
        text += f"<=[{','.join(map(str, iota.iota_reshape_dims))}]"
        perm = list(iota.iota_transpose_perm)
        if perm != sorted(perm):
            text += f"T({','.join(map(str, perm))})"
        yield f"replica_groups={text}"
    elif groups:
        yield f"replica_groups={listed(listed(g.replica_ids) for g in groups)}"
    if p.source_target_pairs:
        pairs = (listed((pair.source, pair.target)) for pair in p.source_target_pairs)
        yield f"source_target_pairs={listed(pairs)}"
    yield from _flags(p, "use_global_device_ids", "is_host_transfer")
    if p.constrain_layout and p.opcode.startswith(("all-", "collective-", "reduce-scatter")):
        yield "constrain_layout=true"


# --- attributes of single opcodes


def _convolution(p: Any) -> Iterator[str]:
    d = p.convolution_dimension_numbers

    def labels(letters: Mapping[int, str], spatial: Iterable[int]) -> str:
        found = {**letters, **{place: str(i) for i, place in enumerate(spatial)}}
        return "".join(found.get(i, "?") for i in range(len(found)))

    lhs = {d.input_batch_dimension: "b", d.input_feature_dimension: "f"}
    rhs = {d.kernel_input_feature_dimension: "i", d.kernel_output_feature_dimension: "o"}
    out = {d.output_batch_dimension: "b", d.output_feature_dimension: "f"}
    yield (
        f"dim_labels={labels(lhs, d.input_spatial_dimensions)}"
        f"_{labels(rhs, d.kernel_spatial_dimensions)}"
        f"->{labels(out, d.output_spatial_dimensions)}"
    )
    for name in ("feature_group_count", "batch_group_count"):
        if getattr(p, name) > 1:
            yield f"{name}={getattr(p, name)}"


def _dot(p: Any) -> Iterator[str]:
    d = p.dot_dimension_numbers
    for name in ("lhs_batch", "lhs_contracting", "rhs_batch", "rhs_contracting"):
        dims = getattr(d, f"{name}_dimensions")
        if dims:
            yield f"{name}_dims={listed(dims)}"


def _numbers(d: Any, names: str, optional: str) -> Iterator[str]:
    for name in names.split():
        yield f"{name}={listed(getattr(d, name))}"
    for name in optional.split():
        if getattr(d, name):
            yield f"{name}={listed(getattr(d, name))}"
    yield f"index_vector_dim={d.index_vector_dim}"


def _gather(p: Any) -> Iterator[str]:
    yield from _numbers(
        p.gather_dimension_numbers,
        "offset_dims collapsed_slice_dims start_index_map",
        "operand_batching_dims start_indices_batching_dims",
    )
    yield f"slice_sizes={listed(p.gather_slice_sizes)}"
    yield from _flags(p, "indices_are_sorted")


def _scatter(p: Any) -> Iterator[str]:
    yield from _numbers(
        p.scatter_dimension_numbers,
        "update_window_dims inserted_window_dims scatter_dims_to_operand_dims",
        "input_batching_dims scatter_indices_batching_dims",
    )
    yield from _flags(p, "indices_are_sorted", "unique_indices")


def _flags(p: Any, *names: str) -> Iterator[str]:
    return (f"{name}=true" for name in names if getattr(p, name))


def _compare(p: Any) -> Iterator[str]:
    yield f"direction={p.comparison_direction}"
    if p.comparison_type == "TOTALORDER":  # the others follow from the operands
        yield "type=TOTALORDER"


def _pad(p: Any) -> Iterator[str]:
    dims = p.padding_config.dimensions
    texts = (f"{d.edge_padding_low}_{d.edge_padding_high}_{d.interior_padding}" for d in dims)
    if dims:
        yield f"padding={'x'.join(texts)}"


def _triangular_solve(p: Any) -> Iterator[str]:
    o = p.triangular_solve_options
    yield from _flags(o, "left_side", "lower", "unit_diagonal")
    yield f"transpose_a={named(TRANSPOSES, o.transpose_a, 'transpose_a')}"


def _custom_call(p: Any) -> Iterator[str]:
    yield f"custom_call_target={quote(p.custom_call_target)}"
    yield from _flags(p, "custom_call_has_side_effect")


def _batch_norm(p: Any) -> Iterator[str]:
    yield f"epsilon={p.epsilon:.9g}"
    yield f"feature_index={p.feature_index}"


_SPECIAL: dict[str, Callable[[Any], Iterable[str]]] = {
    "convolution": _convolution,
    "dot": _dot,
    "gather": _gather,
    "scatter": _scatter,
    "compare": _compare,
    "pad": _pad,
    "triangular-solve": _triangular_solve,
    "custom-call": _custom_call,
    "batch-norm-training": _batch_norm,
    "batch-norm-inference": _batch_norm,
    "batch-norm-grad": _batch_norm,
    "iota": lambda p: [f"iota_dimension={p.dimensions[0] if p.dimensions else 0}"],
    "slice": lambda p: [
        f"slice={listed(f'[{d.start}:{d.limit}:{d.stride or 1}]' for d in p.slice_dimensions)}"
    ],
    "dynamic-slice": lambda p: [f"dynamic_slice_sizes={listed(p.dynamic_slice_sizes)}"],
    "reduce-precision": lambda p: [
        f"exponent_bits={p.exponent_bits}",
        f"mantissa_bits={p.mantissa_bits}",
    ],
    "get-tuple-element": lambda p: [f"index={p.tuple_index}"],
    "sort": lambda p: _flags(p, "is_stable"),
    "topk": lambda p: [f"k={p.k}", f"largest={str(p.largest).lower()}"],
    "cholesky": lambda p: _flags(p.cholesky_options, "lower"),
    "fft": lambda p: [
        f"fft_type={named(FFT_TYPES, p.fft_type, 'fft_type')}",
        f"fft_length={listed(p.fft_length)}",
    ],
    "fusion": lambda p: [f"kind={p.fusion_kind}"],
    "rng": lambda p: [f"distribution={named(DISTRIBUTIONS, p.distribution, 'distribution')}"],
    "rng-bit-generator": lambda p: [
        f"algorithm={named(RNG_ALGORITHMS, p.rng_algorithm, 'rng_algorithm')}"
    ],
    "rng-get-and-update-state": lambda p: [f"delta={p.delta}"],
    "infeed": lambda p: [f"infeed_config={quote(p.infeed_config.decode('utf-8', 'replace'))}"],
    "outfeed": lambda p: [f"outfeed_config={quote(p.outfeed_config.decode('utf-8', 'replace'))}"],
}
