"""Reductions, sorting, and batch normalisation."""

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, FloatAttr, f32
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, i64_attr
from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.operators.registry import operator


@operator("reduce")
def _reduce(c: Context) -> Sequence[SSAValue]:
    dimensions = i64_array(c.integers("dimensions"))
    return c.emit("reduce", {"dimensions": dimensions}, regions=[c.region(0)])


def _window(c: Context, *dilations: str) -> dict[str, Attribute]:
    sizes = c.integers("window_dimensions")
    properties: dict[str, Attribute] = {"window_dimensions": i64_array(sizes)}
    for name in ("window_strides", *dilations):
        properties[name] = i64_array(c.integers(name, [1] * len(sizes)))
    rows = c.rows("padding", [[0, 0]] * len(sizes))
    properties["padding"] = i64_array(n for row in rows for n in row)
    return properties


@operator("reduce_window")
def _reduce_window(c: Context) -> Sequence[SSAValue]:
    properties = _window(c, "base_dilations", "window_dilations")
    return c.emit("reduce_window", properties, regions=[c.region(0)])


@operator("select_and_scatter")
def _select_and_scatter(c: Context) -> Sequence[SSAValue]:
    c.need_operands(3)
    return c.emit("select_and_scatter", _window(c), regions=[c.region(0), c.region(1)])


@operator("sort")
def _sort(c: Context) -> Sequence[SSAValue]:
    dimension = c.integer("dimension", -1)
    properties: dict[str, Attribute] = {
        "dimension": i64_attr(dimension + len(c.shape()) if dimension < 0 else dimension),
        "is_stable": BoolAttr.from_bool(c.flag("is_stable")),
    }
    return c.emit("sort", properties, regions=[c.region(0)])


@operator("chlo.top_k", "mhlo.topk")
def _top_k(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    largest = bool(c.op.attributes.get("largest", True))
    properties: dict[str, Attribute] = {
        "k": i64_attr(c.integer("k")),
        "largest": BoolAttr.from_bool(largest),
    }
    return c.emit("topk", properties)


def _batch_norm(c: Context) -> dict[str, Attribute]:
    epsilon = c.op.attributes.get("epsilon")
    if not isinstance(epsilon, (int, float)):
        c.fail("attribute 'epsilon' is missing or malformed")
    feature = i64_attr(c.integer("feature_index"))
    return {"epsilon": FloatAttr(float(epsilon), f32), "feature_index": feature}


@operator("batch_norm_inference")
def _batch_norm_inference(c: Context) -> Sequence[SSAValue]:
    c.need_operands(5)
    return c.emit("batch_norm_inference", _batch_norm(c))


@operator("batch_norm_training")
def _batch_norm_training(c: Context) -> Sequence[SSAValue]:
    c.need_operands(3)
    return c.emit("batch_norm_training", _batch_norm(c))


@operator("batch_norm_grad")
def _batch_norm_grad(c: Context) -> Sequence[SSAValue]:
    c.need_operands(5)
    return c.emit("batch_norm_grad", _batch_norm(c))
