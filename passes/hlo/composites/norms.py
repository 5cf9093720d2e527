"""Recognise layer norms and RMS norms: (x - mean) / sqrt(var + eps) * scale + offset."""

from dataclasses import dataclass

from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, f64, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.dtypes import is_float
from neuronir.passes.hlo.composites.patterns import (
    binary,
    factors,
    fits,
    mean,
    spread,
    strip_reshape,
)
from neuronir.passes.hlo.composites.region import cut, wrap
from neuronir.passes.hlo.support.values import element, is_tensor, producer, shape, splat
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class Deviation:
    """1 / sqrt(variance + epsilon), where the variance of x is about its mean or about zero."""

    x: SSAValue
    dims: tuple[int, ...]
    epsilon: float
    centred: bool


@dataclass(frozen=True)
class Norm:
    """A matched norm with its scale and offset."""

    root: SSAValue
    deviation: Deviation
    scale: SSAValue | None
    offset: SSAValue | None


def _square(value: SSAValue) -> SSAValue | None:
    both = binary(value, "multiply")
    return both[0] if both is not None and both[0] is both[1] else None


def centre(value: SSAValue) -> tuple[SSAValue, tuple[int, ...]] | None:
    """Match x minus its mean over dims; return (x, dims)."""
    difference = binary(value, "subtract")
    if difference is None:
        return None
    x, shift = difference
    stat = spread(shift)
    average = mean(stat.value)
    if average is None or average.operand is not x or not fits(stat, average.dims, x):
        return None
    return x, average.dims


def _variance(value: SSAValue) -> tuple[SSAValue, tuple[int, ...], bool] | None:
    """Match a variance of x (or a mean of squares, not centred); return (x, dims, centred)."""
    value = strip_reshape(value)
    above_zero = binary(value, "maximum")
    if above_zero is not None:
        for side, other in (above_zero, above_zero[::-1]):
            number = splat(other)
            if number is not None and float(number) == 0:
                return _variance(side)
        return None
    average = mean(value)
    if average is not None:
        inner = _square(average.operand)
        if inner is None:
            return None
        centred = centre(inner)
        if centred is not None and set(centred[1]) == set(average.dims):
            return centred[0], average.dims, True
        return inner, average.dims, False
    difference = binary(value, "subtract")
    if difference is None:
        return None
    # mean(x^2) - mean(x)^2
    squares, squared_mean = mean(difference[0]), _square(strip_reshape(difference[1]))
    if squares is None or squared_mean is None:
        return None
    x, average = _square(squares.operand), mean(squared_mean)
    if x is None or average is None or average.operand is not x:
        return None
    return (x, squares.dims, True) if set(average.dims) == set(squares.dims) else None


def _deviation(value: SSAValue, inverted: bool) -> Deviation | None:
    """Match rsqrt(variance + eps) or 1 / sqrt(variance + eps); or sqrt(...) if `inverted`."""
    value = strip_reshape(value)
    root = producer(value, "sqrt" if inverted else "rsqrt")
    if root is None and not inverted:
        quotient = binary(value, "divide")
        if quotient is not None and (one := splat(quotient[0])) is not None and float(one) == 1:
            return _deviation(quotient[1], True)
    if root is None:
        return None
    total = binary(strip_reshape(root.operands[0]), "add")
    if total is None:
        return None
    for side, other in (total, total[::-1]):
        number = splat(other)
        found = None if number is None else _variance(side)
        if found is not None and number is not None and 0 <= float(number) < 1:
            return Deviation(found[0], found[1], float(number), found[2])
    return None


def _affine(value: SSAValue, norm: Deviation) -> SSAValue | None:
    """Return the parameter that a value broadcasts over the normalised dimensions only."""
    stat = spread(value)
    dims = [d for d in stat.dims if shape(value)[d] != 1]
    if shape(value) != shape(norm.x) or not set(dims) <= set(norm.dims):
        return None
    return stat.value if producer(value, "broadcast") is not None else None


def _match_product(product: SSAValue, offset: SSAValue | None, root: SSAValue) -> Norm | None:
    parts = factors(product)
    sides = [(v, False) for v in parts.above] + [(v, True) for v in parts.below]
    for i, (value, inverted) in enumerate(sides):
        if producer(value, "broadcast") is None:
            continue
        stat = spread(value)
        found = _deviation(stat.value, inverted)
        if found is None or not fits(stat, found.dims, found.x):
            continue
        rest = [side for k, side in enumerate(sides) if k != i]
        if any(below for _, below in rest):
            return None
        return _assemble([v for v, _ in rest], found, offset, root)
    return None


def _assemble(
    rest: list[SSAValue], found: Deviation, offset: SSAValue | None, root: SSAValue
) -> Norm | None:
    """Check the other factors: x (centred if the variance is) and at most one scale."""
    body = next((v for v in rest if _is_body(v, found)), None)
    if body is None:
        return None
    scales = [v for v in rest if v is not body]
    if len(scales) > 1:
        return None
    scale = _affine(scales[0], found) if scales else None
    if scales and scale is None:
        return None
    return Norm(root, found, scale, offset)


def _is_body(value: SSAValue, found: Deviation) -> bool:
    if not found.centred:
        return value is found.x
    centred = centre(value)
    return centred is not None and centred[0] is found.x and set(centred[1]) == set(found.dims)


def match_norm(op: Operation) -> list[Norm]:
    """Return the norms that may end at an op, larger ones first."""
    root = op.results[0]
    found: list[Norm] = []
    if op.name == "hlo.add":
        for side, other in (tuple(op.operands), tuple(reversed(op.operands))):
            if producer(side, "multiply") is None and producer(side, "divide") is None:
                continue
            norm = _match_product(side, other, root)
            offset = None if norm is None else _affine(other, norm.deviation)
            if norm is not None and offset is not None and norm.deviation.centred:
                found.append(Norm(root, norm.deviation, norm.scale, offset))
    elif op.name in ("hlo.multiply", "hlo.divide"):
        norm = _match_product(root, None, root)
        if norm is not None:
            found.append(norm)
    return found


def _wrap(norm: Norm) -> bool:
    deviation = norm.deviation
    inputs = [v for v in (deviation.x, norm.scale, norm.offset) if v is not None]
    if len(set(inputs)) != len(inputs):
        return False
    part = cut(norm.root, inputs)
    if part is None:
        return False
    dims = sorted(d for d in deviation.dims if shape(deviation.x)[d] != 1) or list(deviation.dims)
    kind = "layer_norm" if deviation.centred else "rms_norm"
    params: dict[str, Attribute] = {
        "axes": i64_array(dims),
        "axis": IntegerAttr(dims[-1], i64),
        "epsilon": FloatAttr(deviation.epsilon, f64),
        "has_scale": BoolAttr.from_bool(norm.scale is not None),
        "has_offset": BoolAttr.from_bool(norm.offset is not None),
    }
    wrap(part, kind, params)
    record("hlo-find-composites", kind)
    return True


_ON_THE_WAY = frozenset(("hlo.reshape", "hlo.broadcast", "hlo.divide", "hlo.multiply"))


def _ends(block: Block) -> set[Operation]:
    """Return the sums and products that depend on square roots through views and products only.

    Every norm ends at one of these ops.
    """
    seen = {op for op in block.ops if op.name in ("hlo.sqrt", "hlo.rsqrt")}
    pending = list(seen)
    while pending:
        for use in pending.pop().results[0].uses:
            reader = use.operation
            if reader not in seen:
                seen.add(reader)
                if reader.name in _ON_THE_WAY:
                    pending.append(reader)
    return {op for op in seen if op.name in ("hlo.add", "hlo.multiply", "hlo.divide")}


def find_norms(block: Block) -> int:
    """Outline the layer norms and RMS norms of a block and return their number."""
    count = 0
    ends = _ends(block)
    for op in reversed(tuple(block.ops)):
        if op.parent is not block or op not in ends:
            continue
        if not is_tensor(op.results[0]) or not is_float(element(op.results[0])):
            continue
        count += any(_wrap(norm) for norm in match_norm(op))
    return count
