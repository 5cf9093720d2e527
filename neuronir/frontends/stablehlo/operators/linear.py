"""Products, convolutions and linear algebra."""

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, BoolAttr
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, i64_attr, string_attr
from neuronir.frontends.hlo_text.attributes import dim_labels
from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.operators.registry import operator
from neuronir.frontends.stablehlo.records import ConvolutionNumbers


def _precision(c: Context) -> dict[str, Attribute]:
    """Return the precision of the operands, unless both have the default."""
    given = c.op.attributes.get("precision_config", [])
    if not isinstance(given, list):
        c.fail("malformed value of attribute 'precision_config'")
    names = [str(name).lower() for name in given]
    if set(names) <= {"default"}:
        return {}
    return {"operand_precision": ArrayAttr([string_attr(name) for name in names])}


_TIMES = {(2, 3): "_x3", (3, 6): "_x6", (3, 9): "_x9", (1, 1): "", (1, 3): "_x3"}


def _algorithm(c: Context) -> dict[str, Attribute]:
    """Return XLA's name of the algorithm of a product, if one is given."""
    given: dict[str, Any] = dict(c.fields("algorithm"))
    if not given:
        return {}
    lhs, rhs, out = (
        str(given.get(f"{name}_type")).lower()
        for name in ("lhs_precision", "rhs_precision", "accumulation")
    )
    if lhs.startswith("f8"):
        name = "dot_any_f8_any_f8_f32"
        name += "_fast_accum" if given.get("allow_imprecise_accumulation") else ""
    else:
        key = (given.get("lhs_component_count"), given.get("num_primitive_operations"))
        if key not in _TIMES:
            c.fail("the algorithm of the product is not known")
        name = f"dot_{lhs}_{rhs}_{out}{_TIMES[key]}"
    return {"algorithm": string_attr(name)}


@operator("dot_general")
def _dot_general(c: Context) -> Sequence[SSAValue]:
    c.need_operands(2)
    given = c.fields("dot_dimension_numbers")
    properties: dict[str, Attribute] = {}
    for ours, theirs in (("batch", "batching"), ("contracting", "contracting")):
        for side in ("lhs", "rhs"):
            properties[f"{side}_{ours}_dims"] = c.field(given, f"{side}_{theirs}_dimensions")
    return c.emit("dot", properties | _precision(c) | _algorithm(c))


@operator("dot")
def _dot(c: Context) -> Sequence[SSAValue]:
    c.need_operands(2)
    if not (len(c.shape(0)) in (1, 2) and len(c.shape(1)) in (1, 2)):
        c.fail("operands are vectors or matrices", "NIR_HLO010")
    properties: dict[str, Attribute] = {
        "lhs_batch_dims": i64_array(()),
        "rhs_batch_dims": i64_array(()),
        "lhs_contracting_dims": i64_array((len(c.shape(0)) - 1,)),
        "rhs_contracting_dims": i64_array((0,)),
    }
    return c.emit("dot", properties | _precision(c))


def _labels(c: Context) -> dict[str, Attribute]:
    numbers = c.op.attributes.get("dimension_numbers")
    if not isinstance(numbers, ConvolutionNumbers):
        c.fail("attribute 'dimension_numbers' is missing or malformed")
    parts = ["".join(labels) for labels in (numbers.lhs, numbers.rhs, numbers.out)]
    try:
        return dim_labels(f"{parts[0]}_{parts[1]}->{parts[2]}")
    except ValueError:
        c.fail("malformed value of attribute 'dimension_numbers'")


@operator("convolution")
def _convolution(c: Context) -> Sequence[SSAValue]:
    c.need_operands(2)
    properties = _labels(c)
    rank = max(0, len(c.shape()) - 2)
    for name in ("window_strides", "lhs_dilation", "rhs_dilation"):
        properties[name] = i64_array(c.integers(name, [1] * rank))
    properties["window_reversal"] = i64_array(c.integers("window_reversal", [0] * rank))
    rows = c.rows("padding", [[0, 0]] * rank)
    properties["padding"] = i64_array(n for row in rows for n in row)
    for name in ("feature_group_count", "batch_group_count"):
        properties[name] = i64_attr(c.integer(name, 1))
    return c.emit("convolution", properties | _precision(c))


@operator("cholesky")
def _cholesky(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    return c.emit("cholesky", {"lower": BoolAttr.from_bool(c.flag("lower"))})


@operator("triangular_solve")
def _triangular_solve(c: Context) -> Sequence[SSAValue]:
    c.need_operands(2)
    properties: dict[str, Attribute] = {
        name: BoolAttr.from_bool(c.flag(name)) for name in ("left_side", "lower", "unit_diagonal")
    }
    properties["transpose_a"] = string_attr(c.word("transpose_a", "NO_TRANSPOSE"))
    return c.emit("triangular_solve", properties)


@operator("fft")
def _fft(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    length = i64_array(c.integers("fft_length"))
    return c.emit("fft", {"fft_type": string_attr(c.word("fft_type")), "fft_length": length})
