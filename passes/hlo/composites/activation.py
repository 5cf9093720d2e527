"""Recognise elementwise functions of one value (gelu, erf, silu) by evaluating subgraphs."""

from collections.abc import Hashable, Iterator
from functools import cache

import ml_dtypes
import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.hlo.semantics.numeric import NARROW_FLOATS
from neuronir.dialects.hlo.semantics.registry import bind
from neuronir.dialects.support.dtypes import is_float, np_dtype
from neuronir.passes.hlo.composites.functions import (
    FUNCTIONS,
    Float64,
    agrees,
    agrees_unrounded,
    sample_points,
)
from neuronir.passes.hlo.composites.region import Part, cut, wrap
from neuronir.passes.hlo.rules.shape import ELEMENTWISE
from neuronir.passes.hlo.support.values import element, is_tensor, shape, splat
from neuronir.passes.statistics import record

_ELEMENTWISE = frozenset(ELEMENTWISE)
CURVED = frozenset(
    f"hlo.{name}"
    for name in ("exponential", "exponential_minus_one", "tanh", "erf", "logistic", "log_plus_one")
)
"""Every recognised function contains one of these ops."""
_LEVELS = 4
"""Limit of candidate inputs tried for one root."""


class _Dominators:
    """For each elementwise value, find the nearest value on all paths from the inputs to it."""

    def __init__(self, block: Block) -> None:
        self.parent: dict[SSAValue, SSAValue | None] = {}
        self.depth: dict[SSAValue, int] = {}
        for op in block.ops:
            if op.name not in _ELEMENTWISE:
                continue
            operands = [v for v in op.operands if splat(v) is None]
            same = all(is_tensor(v) and shape(v) == shape(op.results[0]) for v in operands)
            meet = self.meet(operands) if operands and same else None
            self.parent[op.results[0]] = meet
            self.depth[op.results[0]] = 0 if meet is None else self.depth.get(meet, 0) + 1

    def meet(self, values: list[SSAValue]) -> SSAValue | None:
        """Return the nearest common value on the paths from several values to the inputs."""
        common: SSAValue | None = values[0]
        for other in values[1:]:
            common = self.meet_two(common, other)
        return common

    def meet_two(self, a: SSAValue | None, b: SSAValue | None) -> SSAValue | None:
        while a is not b:
            if a is None or b is None:
                return None
            if self.depth.get(a, 0) >= self.depth.get(b, 0):
                a = self.parent.get(a)
            else:
                b = self.parent.get(b)
        return a

    def above(self, value: SSAValue) -> Iterator[SSAValue]:
        """Return the candidate inputs of a subgraph that ends at `value`, nearest first."""
        current = self.parent.get(value)
        for _ in range(_LEVELS):
            if current is None:
                return
            yield current
            current = self.parent.get(current)


def _evaluate(part: Part, points: Array, wide: bool = False) -> Array | None:
    """Evaluate the values of a one-input subgraph at some points; scalars stay scalars.

    With `wide`, the points are f32, and narrow floats are not rounded.
    """
    known: dict[SSAValue, Array] = {part.inputs[0]: points}
    for op in part.ops:
        number = splat(op.results[0])
        if number is not None:
            if wide and number.dtype in NARROW_FLOATS:
                number = number.astype(np.float32)
            known[op.results[0]] = np.broadcast_to(number, points.shape)
        elif op.name not in _ELEMENTWISE:
            return None
        elif wide and op.name == "hlo.convert" and _is_narrow(op.results[0]):
            known[op.results[0]] = known[op.operands[0]].astype(np.float32)
        elif (
            wide
            and op.name == "hlo.bitcast_convert"
            and any(map(_is_narrow, (op.operands[0], op.results[0])))
        ):
            return None
        else:
            known[op.results[0]] = np.asarray(bind(op)(*(known[v] for v in op.operands)))
    return known[part.root]


def _is_narrow(value: SSAValue) -> bool:
    return np_dtype(element(value)) in NARROW_FLOATS


def _signature(part: Part) -> Hashable:
    """Return a key of what a subgraph computes, whatever its shape; equal ones are evaluated
    once.
    """
    numbers: dict[SSAValue, int] = {part.inputs[0]: 0}
    key: list[Hashable] = [element(part.inputs[0])]
    for op in part.ops:
        number = splat(op.results[0])
        numbers[op.results[0]] = len(numbers)
        if number is not None:
            key.append((number.dtype, number.tobytes()))
            continue
        properties = tuple(sorted(op.properties.items()))
        operands = tuple(numbers[v] for v in op.operands)
        key.append((op.name, operands, properties, element(op.results[0])))
    return tuple(key)


@cache
def _points() -> Float64:
    return sample_points()


def _recognise(part: Part) -> str | None:
    """Return the kind of function that a one-input subgraph computes, or None if unknown."""
    types = {element(part.inputs[0]), element(part.root)}
    if len(types) != 1 or not is_float(element(part.root)):
        return None
    dtype = np_dtype(element(part.root))
    info = ml_dtypes.finfo(dtype)
    points = _points().astype(dtype)
    with np.errstate(all="ignore"):
        values = _evaluate(part, points)
    if values is None:
        return None
    x, y = points.astype(np.float64), values.astype(np.float64)
    if not bool(np.isfinite(y).all()):
        return None
    unrounded: Float64 | None = None
    if _is_narrow(part.root):
        with np.errstate(all="ignore"):
            wide = _evaluate(part, points.astype(np.float32), wide=True)
        if wide is None:
            return None
        unrounded = wide.astype(np.float64)
    eps = float(info.eps)
    order = list(FUNCTIONS)
    if any(op.name == "hlo.tanh" for op in part.ops):
        order.sort(key=lambda f: f.kind != "gelu_tanh")
    for function in order:
        if agrees(function, x, y, eps, float(info.tiny)) and (
            unrounded is None or agrees_unrounded(function, x, unrounded, eps)
        ):
            return function.kind
    return None


def find_activations(block: Block) -> int:
    """Outline the activation functions of a block, larger subgraphs before those inside them."""
    ways = _Dominators(block)
    kinds: dict[Hashable, str | None] = {}
    count = 0
    for op in reversed(tuple(block.ops)):
        if op.parent is not block or op.name not in _ELEMENTWISE or not is_tensor(op.results[0]):
            continue
        if not is_float(element(op.results[0])):
            continue
        count += _try(op, ways, kinds)
    return count


def _try(op: Operation, ways: _Dominators, kinds: dict[Hashable, str | None]) -> int:
    root = op.results[0]
    for source in ways.above(root):
        part = cut(root, [source])
        if part is None or not any(inner.name in CURVED for inner in part.ops):
            continue
        if sum(splat(inner.results[0]) is None for inner in part.ops) < 2:
            continue
        key = _signature(part)
        if key not in kinds:
            kinds[key] = _recognise(part)
        kind = kinds[key]
        if kind is not None:
            wrap(part, kind, {})
            record("hlo-find-composites", kind)
            return 1
    return 0
