"""Select ops that are lowered as a whole: those without a tiling, layouts or a rule for tiles.

They read and write arrays in HBM, with the rules of lower-hlo-to-nc.
"""

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.support.unchanged import fact_of_op
from neuronir.dialects.tile.interface import Tiling, tiling_of
from neuronir.dialects.tile.rules import combiner, shape_of
from neuronir.passes.hlo.support.values import integer, ints
from neuronir.passes.lowering.rules.elementwise import BINARY, LOGICAL
from neuronir.passes.tile.numbers import number_of

ON_TILES = frozenset(
    f"hlo.{name}"
    for name in (
        "abs and bitcast bitcast_convert broadcast compare composite concatenate constant convert "
        "convolution copy divide dot erf exponential iota log logistic negate not or pad reduce "
        "reshape reverse rsqrt select sign sine slice sqrt tanh transpose xor"
    ).split()
) | frozenset((*BINARY, *LOGICAL))
"""Ops with layouts and a rule for tiles."""


MARK = "tile.whole"
"""The attribute of an op without a layout: it is lowered as a whole."""
LEAST_ROWS = 8
"""From this number of features of a group, joined taps included, a convolution is tiled."""
LARGEST_ROW = 4096
"""Limit of elements of a padded value on one partition."""
REDUCERS = frozenset(("hlo.add", "hlo.multiply", "hlo.maximum", "hlo.minimum", *LOGICAL))
"""Supported combiners of reductions on tiles."""


def _dtype(op: Operation) -> DType:
    type_ = op.results[0].type
    assert isinstance(type_, TensorType)
    return dtype_of(type_.element_type)


def _reduces(op: Operation) -> bool:
    return combiner(op) in REDUCERS and number_of(op.operands[1]) is not None


def _pads(op: Operation) -> bool:
    names = ("edge_padding_low", "edge_padding_high")
    if any(n < 0 for name in names for n in ints(op, name)):
        return False
    if prod(shape_of(op.results[0])) > LARGEST_ROW and not _lies_apart(op):
        return False
    return number_of(op.operands[1]) is not None


def _lies_apart(op: Operation) -> bool:
    """Return whether some dimension of a pad is not padded, so that it can be on partitions."""
    edges = [ints(op, f"edge_padding_{side}") for side in ("low", "high")]
    edges.append(ints(op, "interior_padding"))
    sizes = shape_of(op.results[0])
    return any(n > 1 and not any(e[d] for e in edges) for d, n in enumerate(sizes))


def _convolves(op: Operation) -> bool:
    features = shape_of(op.operands[1])[integer(op, "kernel_input_feature_dim")]
    plain = integer(op, "batch_group_count") == 1 and not any(ints(op, "padding"))
    return plain and features >= LEAST_ROWS


_CHECKS: dict[str, Callable[[Operation], bool]] = {
    "hlo.convolution": _convolves,
    "hlo.reduce": _reduces,
    "hlo.pad": _pads,
    "hlo.divide": lambda op: _dtype(op).is_float,
}


def whole(op: Operation) -> bool:
    """Return whether an op is lowered as a whole."""
    if op.name in ("tile.unfold", "tile.to_index"):
        return True
    if not op.name.startswith("hlo.") or op.name == "hlo.tuple":
        return False
    if MARK in op.attributes or op.name not in ON_TILES or tiling_of(op) is None:
        return True
    check = _CHECKS.get(op.name)
    return check is not None and not check(op)


def trims(op: Operation) -> bool:
    """Return whether an op is a slice that is lowered as a whole: its operand is stored in part."""
    if op.name != "hlo.slice" or MARK not in op.attributes:
        return False
    return all(n == 1 for n in ints(op, "strides"))


@fact_of_op
def tiled(op: Operation) -> Tiling | None:
    """Return the tiling of an op; None if it is lowered as a whole."""
    return None if whole(op) else tiling_of(op)
