"""Inference batch normalisation: (x - mean) * (rsqrt(var + eps) * scale) + offset per channel."""

from dataclasses import dataclass

from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, f64, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from neuronir.dialects.support.dtypes import is_float
from neuronir.passes.hlo.composites.patterns import binary, factors, spread, strip_reshape
from neuronir.passes.hlo.composites.region import cut, wrap
from neuronir.passes.hlo.support.values import element, is_tensor, producer, shape, splat
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class BatchNorm:
    """A matched normalisation; all but x are 1-D, along dimension `feature` of x."""

    x: SSAValue
    scale: SSAValue | None
    offset: SSAValue | None
    mean: SSAValue
    variance: SSAValue
    epsilon: float
    feature: int


def _per_channel(value: SSAValue) -> tuple[SSAValue, int] | None:
    """(1-D value, dimension) if the value repeats a 1-D one along all other dimensions."""
    if producer(value, "broadcast") is None:
        return None
    stat = spread(value)
    dims = [d for d in stat.dims if shape(value)[d] != 1]
    if len(dims) != 1 or len([n for n in shape(stat.value) if n != 1]) != 1:
        return None
    return stat.value, dims[0]


def _inverse_deviation(value: SSAValue) -> tuple[SSAValue, float] | None:
    """(variance, epsilon) of rsqrt(variance + epsilon)."""
    root = producer(strip_reshape(value), "rsqrt")
    total = None if root is None else binary(strip_reshape(root.operands[0]), "add")
    if total is None:
        return None
    for side, other in (total, total[::-1]):
        number = splat(other)
        if number is not None and splat(side) is None and 0 <= float(number) < 1:
            return strip_reshape(side), float(number)
    return None


def _split(value: SSAValue) -> tuple[SSAValue | None, SSAValue, float] | None:
    """(scale, variance, epsilon) of scale * rsqrt(variance + epsilon), or without the scale."""
    parts = factors(value)
    if parts.below or len(parts.above) > 2:
        return None
    for i, side in enumerate(parts.above):
        found = _inverse_deviation(side)
        if found is not None:
            rest = [strip_reshape(v) for k, v in enumerate(parts.above) if k != i]
            return (rest[0] if rest else None), found[0], found[1]
    return None


def match_batch_norm(op: Operation) -> BatchNorm | None:
    """The batch norm that ends at an add (of the offset), or at a multiplication without one."""
    root = op.results[0]
    offset: tuple[SSAValue, int] | None = None
    product: SSAValue = root
    if op.name == "hlo.add":
        for side, other in (tuple(op.operands), tuple(reversed(op.operands))):
            if producer(side, "multiply") is not None and (found := _per_channel(other)):
                product, offset = side, found
                break
        if offset is None:
            return None
    both = binary(product, "multiply")
    if both is None:
        return None
    parts = factors(product)
    bodies = [v for v in parts.above if producer(v, "subtract") is not None]
    channels = [found for v in parts.above if v not in bodies and (found := _per_channel(v))]
    if parts.below or len(bodies) != 1 or len(bodies) + len(channels) != len(parts.above):
        return None
    return _assemble(bodies[0], channels, offset)


def _assemble(
    body: SSAValue, channels: list[tuple[SSAValue, int]], offset: tuple[SSAValue, int] | None
) -> BatchNorm | None:
    difference = binary(body, "subtract")
    shift = None if difference is None else _per_channel(difference[1])
    if difference is None or shift is None:
        return None
    feature = shift[1]
    if any(d != feature for _, d in channels) or (offset is not None and offset[1] != feature):
        return None
    for i, (value, _) in enumerate(channels):
        found = _split(value)
        rest = [v for k, (v, _) in enumerate(channels) if k != i]
        if found is None or len(rest) + (found[0] is not None) > 1:
            continue
        scale = found[0] if found[0] is not None else (rest[0] if rest else None)
        shifted = None if offset is None else offset[0]
        return BatchNorm(difference[0], scale, shifted, shift[0], found[1], found[2], feature)
    return None


def find_batch_norms(block: Block) -> int:
    """Wrap the inference batch norms of a block; returns how many."""
    count = 0
    for op in reversed(tuple(block.ops)):
        if op.parent is None or op.name not in ("hlo.add", "hlo.multiply"):
            continue
        if not is_tensor(op.results[0]) or not is_float(element(op.results[0])):
            continue
        found = match_batch_norm(op)
        if found is None:
            continue
        optional = (found.scale, found.offset)
        inputs = [found.x, *(v for v in optional if v is not None), found.mean, found.variance]
        part = cut(op.results[0], inputs) if len(set(inputs)) == len(inputs) else None
        if part is None:
            continue
        params: dict[str, Attribute] = {
            "feature_index": IntegerAttr(found.feature, i64),
            "epsilon": FloatAttr(found.epsilon, f64),
            "has_scale": BoolAttr.from_bool(found.scale is not None),
            "has_offset": BoolAttr.from_bool(found.offset is not None),
        }
        wrap(part, "batch_norm_inference", params)
        record("hlo-find-composites", "batch_norm_inference")
        count += 1
    return count
