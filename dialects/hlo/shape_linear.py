"""Infer the shapes of dot, convolution, the solvers and Fourier transforms."""

from xdsl.dialects.builtin import ComplexType, StringAttr
from xdsl.ir import Attribute

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.hlo.shape_rules import (
    Infer,
    Properties,
    Types,
    Violation,
    dims_of,
    element_of,
    get_ints,
    index,
    need_distinct,
    need_length,
    window_sizes,
)
from neuronir.dialects.support.dtypes import is_complex, is_float


def _dot(types: Types, properties: Properties) -> Attribute:
    lhs, rhs = dims_of(types[0], "lhs"), dims_of(types[1], "rhs")
    lhs_batch = get_ints(properties, "lhs_batch_dims")
    rhs_batch = get_ints(properties, "rhs_batch_dims")
    lhs_inner = get_ints(properties, "lhs_contracting_dims")
    rhs_inner = get_ints(properties, "rhs_contracting_dims")
    need_distinct("C1", "lhs batch and contracting dimensions", lhs_batch + lhs_inner, len(lhs))
    need_distinct("C1", "rhs batch and contracting dimensions", rhs_batch + rhs_inner, len(rhs))
    for rule, what, left, right in (
        ("C2", "batch", lhs_batch, rhs_batch),
        ("C3", "contracting", lhs_inner, rhs_inner),
    ):
        if len(left) != len(right):
            raise Violation(rule, f"{what} dimensions {list(left)} and {list(right)} must pair up")
        for a, b in zip(left, right, strict=True):
            if lhs[a] != rhs[b]:
                raise Violation(
                    rule,
                    f"{what} dimensions must have one size: lhs dimension {a} is {lhs[a]}, "
                    f"rhs dimension {b} is {rhs[b]}",
                )
    shape = [lhs[d] for d in lhs_batch]
    shape += [s for d, s in enumerate(lhs) if d not in lhs_batch and d not in lhs_inner]
    shape += [s for d, s in enumerate(rhs) if d not in rhs_batch and d not in rhs_inner]
    return tensor_type(shape, element_of(types[0]))


def _convolution(types: Types, properties: Properties) -> Attribute:
    lhs, rhs = dims_of(types[0], "lhs"), dims_of(types[1], "rhs")
    rank = len(lhs)
    if len(rhs) != rank:
        raise Violation("C1", f"lhs and rhs must have one rank, are {types[0]} and {types[1]}")
    places: dict[str, tuple[int, int, tuple[int, ...]]] = {}
    for side, first, second in (
        ("input", "batch", "feature"),
        ("kernel", "input_feature", "output_feature"),
        ("output", "batch", "feature"),
    ):
        a = index(properties, f"{side}_{first}_dim")
        b = index(properties, f"{side}_{second}_dim")
        spatial = get_ints(properties, f"{side}_spatial_dims")
        if sorted((a, b, *spatial)) != list(range(rank)):
            raise Violation(
                "C2", f"{side} dimension numbers {[a, b, *spatial]} must permute {rank} dimensions"
            )
        places[side] = (a, b, spatial)
    batch, feature, spatial = places["input"]
    kernel_in, kernel_out, kernel_spatial = places["kernel"]
    groups = index(properties, "feature_group_count")
    batch_groups = index(properties, "batch_group_count")
    if groups < 1 or batch_groups < 1 or (groups > 1 and batch_groups > 1):
        raise Violation(
            "C3",
            f"feature_group_count {groups} and batch_group_count {batch_groups} must be positive "
            "and one of them 1",
        )
    if lhs[feature] != rhs[kernel_in] * groups:
        raise Violation(
            "C4",
            f"input feature size {lhs[feature]} must be the kernel's {rhs[kernel_in]} times "
            f"feature_group_count {groups}",
        )
    if rhs[kernel_out] % groups or rhs[kernel_out] % batch_groups:
        raise Violation(
            "C5",
            f"output feature size {rhs[kernel_out]} must be a multiple of the group count "
            f"{max(groups, batch_groups)}",
        )
    if lhs[batch] % batch_groups:
        raise Violation(
            "C6", f"batch size {lhs[batch]} must be a multiple of batch_group_count {batch_groups}"
        )
    sizes = window_sizes(
        "C7",
        [lhs[d] for d in spatial],
        [rhs[d] for d in kernel_spatial],
        get_ints(properties, "window_strides"),
        get_ints(properties, "padding"),
        get_ints(properties, "lhs_dilation"),
        get_ints(properties, "rhs_dilation"),
    )
    need_length("C7", "window_reversal", get_ints(properties, "window_reversal"), len(spatial))
    out_batch, out_feature, out_spatial = places["output"]
    shape = [0] * rank
    shape[out_batch] = lhs[batch] // batch_groups
    shape[out_feature] = rhs[kernel_out]
    for d, size in zip(out_spatial, sizes, strict=True):
        shape[d] = size
    return tensor_type(shape, element_of(types[0]))


def _cholesky(types: Types, properties: Properties) -> Attribute:
    dims = dims_of(types[0], "operand")
    if len(dims) < 2 or dims[-1] != dims[-2]:
        raise Violation("C1", f"operand must be square in its last dimensions, is {types[0]}")
    return types[0]


_TRANSPOSES = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")


def _triangular_solve(types: Types, properties: Properties) -> Attribute:
    a, b = dims_of(types[0], "a"), dims_of(types[1], "b")
    if len(a) < 2 or a[-1] != a[-2]:
        raise Violation("C1", f"a must be square in its last dimensions, is {types[0]}")
    if len(a) != len(b) or a[:-2] != b[:-2]:
        raise Violation("C2", f"batch dimensions of {types[0]} and {types[1]} must agree")
    left = properties["left_side"].value.data  # type: ignore[attr-defined]
    side = b[-2] if left else b[-1]
    if side != a[-1]:
        raise Violation("C3", f"dimension {side} of b must be {a[-1]}, the size of a")
    transpose = properties["transpose_a"]
    if not isinstance(transpose, StringAttr) or transpose.data not in _TRANSPOSES:
        raise Violation("C4", f"transpose_a must be one of {', '.join(_TRANSPOSES)}")
    return types[1]


def _fft(types: Types, properties: Properties) -> Attribute:
    dims, lengths = list(dims_of(types[0], "operand")), get_ints(properties, "fft_length")
    kind = properties["fft_type"]
    name = kind.data if isinstance(kind, StringAttr) else ""
    if name not in ("FFT", "IFFT", "RFFT", "IRFFT"):
        raise Violation("C1", f"fft_type must be FFT, IFFT, RFFT or IRFFT, is {kind}")
    if not 1 <= len(lengths) <= min(3, len(dims)):
        raise Violation("C2", f"fft_length {list(lengths)} must have 1 to 3 entries")
    element = element_of(types[0])
    if name == "RFFT" and not is_float(element) or name != "RFFT" and not is_complex(element):
        raise Violation("C3", f"{name} cannot take elements of type {element}")
    expected = list(lengths)
    if name == "IRFFT":
        expected[-1] = lengths[-1] // 2 + 1
    if dims[-len(lengths) :] != expected:
        raise Violation("C4", f"last dimensions of {types[0]} must be {expected}")
    if name == "RFFT":
        dims[-1] = lengths[-1] // 2 + 1
        return tensor_type(dims, ComplexType(element))  # type: ignore[type-var]
    if name == "IRFFT":
        dims[-1] = lengths[-1]
        assert isinstance(element, ComplexType)
        return tensor_type(dims, element.element_type)
    return types[0]


INFER: dict[str, Infer] = {
    "hlo.dot": _dot,
    "hlo.convolution": _convolution,
    "hlo.cholesky": _cholesky,
    "hlo.triangular_solve": _triangular_solve,
    "hlo.fft": _fft,
}
