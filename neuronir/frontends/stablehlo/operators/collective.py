"""Collectives."""

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, BoolAttr
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, i64_attr
from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.operators.registry import operator


def _channel(c: Context) -> dict[str, Attribute]:
    handle = c.fields("channel_handle").get("handle", 0)
    return (
        {"channel_id": i64_attr(handle)} if isinstance(handle, int) and 0 < handle < 1 << 63 else {}
    )


def _groups(c: Context) -> dict[str, Attribute]:
    rows = c.rows("replica_groups", [])
    groups = ArrayAttr([i64_array(n for n in row if n >= 0) for row in rows])
    found: dict[str, Attribute] = {"replica_groups": groups}
    if c.flag("use_global_device_ids"):
        found["use_global_device_ids"] = BoolAttr.from_bool(True)
    return found | _channel(c)


@operator("all_reduce")
def _all_reduce(c: Context) -> Sequence[SSAValue]:
    return c.emit("all_reduce", _groups(c), regions=[c.region(0)])


@operator("reduce_scatter")
def _reduce_scatter(c: Context) -> Sequence[SSAValue]:
    dimension = {"dimension": i64_attr(c.integer("scatter_dimension"))}
    return c.emit("reduce_scatter", _groups(c) | dimension, regions=[c.region(0)])


@operator("all_gather")
def _all_gather(c: Context) -> Sequence[SSAValue]:
    return c.emit("all_gather", _groups(c) | {"dimension": i64_attr(c.integer("all_gather_dim"))})


@operator("all_to_all")
def _all_to_all(c: Context) -> Sequence[SSAValue]:
    dimension = c.integer("split_dimension")
    if dimension != c.integer("concat_dimension"):
        c.fail("dimensions that are split and concatenated must be equal", "NIR_IMP001")
    return c.emit("all_to_all", _groups(c) | {"dimension": i64_attr(dimension)})


@operator("collective_broadcast")
def _collective_broadcast(c: Context) -> Sequence[SSAValue]:
    return c.emit("collective_broadcast", _groups(c))


@operator("collective_permute")
def _collective_permute(c: Context) -> Sequence[SSAValue]:
    pairs = ArrayAttr([i64_array(row) for row in c.rows("source_target_pairs", [])])
    return c.emit("collective_permute", {"source_target_pairs": pairs} | _channel(c))
