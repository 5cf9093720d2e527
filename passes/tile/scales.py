"""Move factors of dots to the side with fewer elements."""

from math import frexp, prod

from xdsl.dialects.builtin import BFloat16Type, Float32Type
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size
from neuronir.dialects.tile.interface import tiling_of
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, tensor
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.tile.numbers import number_of


def scale_in_front(op: Operation) -> None:
    """Rewrite (x @ y) * c as (x * c) @ y if x has at most half as many elements as the dot.

    If y has fewer elements than x, y is multiplied instead. The magnitude of c must be a power of
    two below one: then the multiplication changes only exponents and cannot overflow. A division by
    a power of two above one is rewritten likewise. In f16, x * c may be subnormal and inexact, so
    f16 dots are not changed.
    """
    factor = _factor(op)
    if factor is None:
        return
    dot, c = factor
    which = min((0, 1), key=lambda i: prod(shape_of(dot.operands[i])))
    if 2 * prod(shape_of(dot.operands[which])) > prod(shape_of(dot.results[0])):
        return
    cast = dot.operands[which].owner
    wide = (
        isinstance(cast, Operation)
        and cast.name == "hlo.convert"
        and isinstance(element(cast.operands[0]), Float32Type)
        and cast.results[0].has_one_use()
    )
    at = cast if wide and isinstance(cast, Operation) else dot
    place = 0 if at is cast else which
    value = at.operands[place]
    build = Emitter(at, op)
    at.operands[place] = build.binary_number("multiply", value, c)
    op.results[0].replace_all_uses_with(dot.results[0])
    erase_dead(op)


def _factor(op: Operation) -> tuple[Operation, float] | None:
    """Match a dot that is multiplied by a power of two below one; return the dot and the factor."""
    if op.name not in ("hlo.multiply", "hlo.divide"):
        return None
    for i in (0, 1) if op.name == "hlo.multiply" else (1,):
        c, dot = number_of(op.operands[i]), op.operands[1 - i].owner
        if c is None or c == 0 or abs(frexp(c)[0]) != 0.5 or not isinstance(dot, Operation):
            continue
        c = 1 / c if op.name == "hlo.divide" else c
        types = [element(v) for v in (*dot.operands, *dot.results)] if dot.name == "hlo.dot" else []
        exact = types and all(isinstance(t, Float32Type | BFloat16Type) for t in types)
        if exact and abs(c) < 1 and dot.results[0].has_one_use():
            return dot, c
    return None


def scale_behind(op: Operation) -> None:
    """Rewrite (x / broadcast(d)) @ y as (x @ y) / broadcast(d), which divides fewer elements.

    The divisor d must not vary along the contraction. A conversion of the quotient in between is
    allowed. Not applied if the dot has more than a fourth of the elements, because the division is
    cheaper in the layout of x.
    """
    for which in (0, 1):
        cast = op.operands[which].owner
        chain: list[Operation] = []
        while isinstance(cast, Operation) and cast.name == "hlo.convert":
            chain.append(cast)
            cast = cast.operands[0].owner
        if not isinstance(cast, Operation) or cast.name != "hlo.divide":
            continue
        if 4 * prod(shape_of(op.results[0])) > prod(shape_of(cast.results[0])):
            continue
        wide = cast.operands[1].owner
        if not isinstance(wide, Operation) or wide.name != "hlo.broadcast":
            continue
        used = [cast, *chain]
        if (
            any(not o.results[0].has_one_use() for o in used)
            or prod(shape_of(wide.operands[0])) == 1
        ):
            continue
        tiling = tiling_of(op)
        assert tiling is not None
        place = ints(wide, "dimensions")
        targets = [t for d in place if isinstance(t := tiling.operands[which][d], int)]
        if len(targets) != len(place) or targets != sorted(targets):
            continue
        block = op.parent
        assert block is not None
        source: SSAValue = cast.operands[0]
        for one in reversed(chain):
            new = one.clone({one.operands[0]: source})
            block.insert_op_before(new, op)
            source = new.results[0]
        operands = list(op.operands)
        operands[which] = source
        build = Emitter(op)
        dims = shape_of(op.results[0])
        kind = max((element(v) for v in (op.results[0], cast.results[0])), key=byte_size)
        product = build.like(op, operands, tensor(dims, kind))
        divisor = build.broadcast(build.convert(wide.operands[0], kind), dims, targets)
        quotient = build.binary("divide", product, divisor)
        op.results[0].replace_all_uses_with(build.convert(quotient, element(op.results[0])))
        erase_dead(op)
        return
