"""Recognise inference batch norms: (x - mean) * (rsqrt(var + eps) * scale) + offset per channel."""

from dataclasses import dataclass

from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, f64, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from neuronir.dialects.support.dtypes import is_float
from neuronir.passes.hlo.composites.patterns import (
    Factors,
    binary,
    factors,
    spread,
    strip_reshape,
)
from neuronir.passes.hlo.composites.region import cut, wrap
from neuronir.passes.hlo.support.values import (
    element,
    is_splat_of,
    is_tensor,
    producer,
    shape,
    splat,
)
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class BatchNorm:
    """A matched batch norm; all values except x are 1-D, along dimension `feature` of x."""

    x: SSAValue
    scale: SSAValue | None
    offset: SSAValue | None
    mean: SSAValue
    variance: SSAValue
    epsilon: float
    feature: int


def _per_channel(value: SSAValue) -> tuple[SSAValue, int] | None:
    """Return (1-D value, dimension) if the value is a broadcast of a 1-D one, else None."""
    if producer(value, "broadcast") is None:
        return None
    stat = spread(value)
    dims = [d for d in stat.dims if shape(value)[d] != 1]
    if len(dims) != 1 or len([n for n in shape(stat.value) if n != 1]) != 1:
        return None
    return stat.value, dims[0]


def _inverse_deviation(value: SSAValue, opcode: str) -> tuple[SSAValue, float] | None:
    """Match rsqrt(variance + epsilon), or sqrt(...) for `opcode` sqrt; return (variance,
    epsilon).
    """
    root = producer(strip_reshape(value), opcode)
    total = None if root is None else binary(strip_reshape(root.operands[0]), "add")
    if total is None:
        return None
    for side, other in (total, total[::-1]):
        number = splat(other)
        if number is not None and splat(side) is None and 0 <= float(number) < 1:
            return strip_reshape(side), float(number)
    return None


def _split(value: SSAValue) -> tuple[SSAValue | None, SSAValue, float] | None:
    """Match scale * rsqrt(variance + epsilon); return (scale, variance, epsilon); scale is
    optional.
    """
    parts = factors(value)
    sides = [(v, "rsqrt") for v in parts.above] + [(v, "sqrt") for v in parts.below]
    if len(sides) > 2:
        return None
    for i, (side, opcode) in enumerate(sides):
        found = _inverse_deviation(side, opcode)
        rest = [other for k, other in enumerate(sides) if k != i]
        if found is None or any(below == "sqrt" for _, below in rest):
            continue
        scales = [v for v, _ in rest if not is_splat_of(v, 1)]
        return (strip_reshape(scales[0]) if scales else None), found[0], found[1]
    return None


def match_batch_norm(op: Operation) -> BatchNorm | None:
    """Match the batch norm that ends at an add (of the offset), or at a multiply without offset."""
    root = op.results[0]
    offset: tuple[SSAValue, int] | None = None
    product: SSAValue = root
    if op.name == "hlo.add":
        for side, other in (tuple(op.operands), tuple(reversed(op.operands))):
            is_product = producer(side, "multiply") or producer(side, "divide")
            if is_product is not None and (found := _per_channel(other)):
                product, offset = side, found
                break
        if offset is None:
            return None
    parts = factors(product)
    bodies = [v for v in parts.above if producer(v, "subtract") is not None]
    above = [found for v in parts.above if v not in bodies and (found := _per_channel(v))]
    below = [found for v in parts.below if (found := _per_channel(v))]
    if len(below) != len(parts.below) or len(above) + len(bodies) != len(parts.above):
        return _folded(parts, offset)
    return _assemble(bodies[0], above, below, offset) if len(bodies) == 1 else None


def _folded(parts: Factors, offset: tuple[SSAValue, int] | None) -> BatchNorm | None:
    """Match x * s + (offset - mean * s) with s = scale * rsqrt(variance + epsilon), as TF prints
    it.
    """
    if parts.below or len(parts.above) != 2 or offset is None:
        return None
    for x, other in (tuple(parts.above), tuple(reversed(parts.above))):
        factor = _per_channel(other)
        difference = binary(offset[0], "subtract")
        product = None if difference is None else binary(strip_reshape(difference[1]), "multiply")
        if factor is None or difference is None or product is None or factor[1] != offset[1]:
            continue
        found = _split(factor[0])
        means = [strip_reshape(v) for v in product if strip_reshape(v) is not factor[0]]
        if found is None or len(means) != 1:
            continue
        shift = strip_reshape(difference[0])
        return BatchNorm(x, found[0], shift, means[0], found[1], found[2], factor[1])
    return None


def _assemble(
    body: SSAValue,
    above: list[tuple[SSAValue, int]],
    below: list[tuple[SSAValue, int]],
    offset: tuple[SSAValue, int] | None,
) -> BatchNorm | None:
    """Match (x - mean) among the factors of a quotient, one of which is the standard deviation."""
    difference = binary(body, "subtract")
    shift = None if difference is None else _per_channel(difference[1])
    if difference is None or shift is None:
        return None
    feature = shift[1]
    sides = above + below
    if any(d != feature for _, d in sides) or (offset is not None and offset[1] != feature):
        return None
    for i, (value, _) in enumerate(sides):
        if i < len(above):
            found = _split(value)
        else:
            deviation = _inverse_deviation(value, "sqrt")
            found = None if deviation is None else (None, *deviation)
        rest = [v for k, (v, _) in enumerate(sides) if k != i]
        if len(below) > (i >= len(above)):
            continue
        if found is None or len(rest) + (found[0] is not None) > 1:
            continue
        scale = found[0] if found[0] is not None else (rest[0] if rest else None)
        shifted = None if offset is None else offset[0]
        return BatchNorm(difference[0], scale, shifted, shift[0], found[1], found[2], feature)
    return None


_ENDS = ("hlo.add", "hlo.multiply", "hlo.divide")


def find_batch_norms(block: Block) -> int:
    """Outline the inference batch norms of a block and return their number."""
    count = 0
    for op in reversed(tuple(block.ops)):
        if op.parent is not block or op.name not in _ENDS:
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
