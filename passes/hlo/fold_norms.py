"""hlo-fold-norms: fold constant scales and offsets of norms into the weights of their users."""

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import ints as array_ints
from neuronir.dialects.hlo.constants import constant_array, lazy_constant
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.flops import FLOPS
from neuronir.dialects.hlo.resources import Magnitudes
from neuronir.dialects.support.cloning import clone_region
from neuronir.dialects.support.lazy import LazyArray, LazyWriter, as_array
from neuronir.passes.hlo.support.bands import weighted_sum
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.scale import scale_weights
from neuronir.passes.hlo.support.values import element, ints, producer, shape, splat
from neuronir.passes.hlo.support.walk import blocks
from neuronir.passes.statistics import record

Vector = NDArray[np.float32]
KINDS = ("layer_norm", "rms_norm")


@dataclass(frozen=True)
class _Affine:
    """The last ops of a norm: its scale and offset, with their operand numbers."""

    scale: tuple[int, Vector] | None
    offset: tuple[int, Vector] | None


def _vector(value: SSAValue) -> Vector | None:
    """Return the finite fp32 values of a constant."""
    if element(value) != f32:
        return None
    one, weights = splat(value), producer(value, "constant")
    if weights is not None:
        given = constant_array(weights)
    elif one is not None:
        given = np.broadcast_to(one, shape(value))
    else:
        return None
    array = given.reshape(-1).astype(np.float32)
    return array if np.isfinite(array).all() else None


def _affine(op: CompositeOp) -> _Affine | None:
    """Return the constant scale and offset of rows along the last dimension, or None."""
    params = op.params.data
    rank = len(shape(op.results[0]))
    axes = array_ints(params["axes"])
    if axes != (rank - 1,) or element(op.results[0]) != f32:
        return None
    names = [k for k in ("has_scale", "has_offset") if cast(BoolAttr, params[k]).value.data]
    found: dict[str, tuple[int, Vector]] = {}
    for i, name in enumerate(names, 1):
        array = _vector(op.operands[i])
        if array is None or array.size != shape(op.results[0])[-1]:
            return None
        found[name] = i, array
    neutral = {"has_scale": 1.0, "has_offset": 0.0}
    if all(np.all(array == neutral[name]) for name, (_, array) in found.items()):
        return None
    return _Affine(found.get("has_scale"), found.get("has_offset"))


def _dots(value: SSAValue, length: int) -> list[tuple[Operation, int]]:
    """Return (dot, operand number) of the dots with constant weights that contract the rows.

    Reshapes in between are allowed.
    """
    out: list[tuple[Operation, int]] = []
    for use in value.uses:
        op = use.operation
        if op.name == "hlo.reshape" and shape(op.results[0])[-1:] == (length,):
            out += _dots(op.results[0], length)
        elif op.name == "hlo.dot":
            mine, other = ("lhs", "rhs") if use.index == 0 else ("rhs", "lhs")
            last = len(shape(value)) - 1
            weights = op.operands[1 - use.index]
            plain = not ints(op, "lhs_batch_dims") and ints(op, f"{mine}_contracting_dims") == (
                last,
            )
            free = len(shape(weights)) - len(ints(op, f"{other}_contracting_dims"))
            types = element(weights) == f32 == element(op.results[0])
            if plain and free == 1 and types and producer(weights, "constant") is not None:
                out.append((op, use.index))
    return out


def _weights(
    op: Operation, which: int, affine: _Affine, writer: LazyWriter
) -> tuple[Vector | LazyArray, Vector | None] | None:
    """Return the weights of a dot with the scale folded in, and the contribution of the offset."""
    given = producer(op.operands[1 - which], "constant")
    assert given is not None
    array = as_array(lazy_constant(given))
    (dimension,) = ints(op, f"{('lhs', 'rhs')[1 - which]}_contracting_dims")
    bias: Vector | None = None
    if affine.offset is not None:
        plain = writer.numbers(array)
        rows = plain if dimension == 0 else plain.T
        seen = Magnitudes()
        with np.errstate(all="ignore"):
            bias = weighted_sum(affine.offset[1].astype(np.float64), rows, seen).astype(np.float32)
        if plain is array:
            seen.found(plain)  # computed for the scaling
        if not np.isfinite(bias).all():
            return None
    scaled: Vector | LazyArray | None = array
    if affine.scale is not None:
        scaled = scale_weights(array, affine.scale[1], dimension)
    return None if scaled is None else (scaled, bias)


def fold(op: CompositeOp, writer: LazyWriter) -> int:
    """Fold the scale and offset of one norm, and return the number of dots."""
    affine = _affine(op)
    if affine is None:
        return 0
    found = _dots(op.results[0], shape(op.results[0])[-1])
    made = [(dot, which, w) for dot, which in found if (w := _weights(dot, which, affine, writer))]
    if not made:
        return 0
    emitter = Emitter(op)
    operands = list(op.operands)
    for given, neutral in ((affine.scale, 1.0), (affine.offset, 0.0)):
        if given is not None:
            operands[given[0]] = emitter.fill_like(neutral, operands[given[0]])
    plain = CompositeOp.create(
        operands=operands,
        result_types=[op.results[0].type],
        properties=dict(op.properties),
        regions=[clone_region(op.regions[0])],
    )
    emitter.insert(plain)
    for dot, which, (weights, bias) in made:
        at = Emitter(dot)
        sides = list(dot.operands)
        sides[which] = at.reshape(plain.results[0], shape(dot.operands[which]))
        sides[1 - which] = at.constant(weights, owned=True)
        result = at.like(dot, sides, dot.results[0].type)
        if FLOPS in dot.attributes:
            at.created[-1].attributes[FLOPS] = dot.attributes[FLOPS]
        if bias is not None and np.any(bias != 0.0):
            last = len(shape(result)) - 1
            spread = at.broadcast(at.constant(bias), shape(result), [0 if which else last])
            result = at.binary("add", result, spread)
        dot.results[0].replace_all_uses_with(result)
    return len(made)


def _fold_block(block: Block) -> int:
    found = [op for op in block.ops if isinstance(op, CompositeOp) and op.kind.data in KINDS]
    writer = LazyWriter()
    return sum(fold(op, writer) for op in found)


@dataclass(frozen=True)
class HloFoldNormsPass(ModulePass):
    """Fold constant scales and offsets of norms into the constant weights of dots.

    For the normalised rows n of a layer norm or RMS norm, dot(n * g + b, w) becomes dot(n, g * w)
    + b @ w. The dot then depends on n only, and scale and offset are free if the norm has no other
    user. If it has one, a second norm with shared statistics is kept for it. Not applied if a
    weight would become infinite or subnormal. Runs in fp32, before hlo-auto-cast, so that the
    weights are rounded once.
    """

    name = "hlo-fold-norms"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        folded = sum(_fold_block(block) for block in blocks(op))
        record(self.name, "dots", folded)
