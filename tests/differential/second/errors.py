"""How far each value of a correct execution may be from XLA's: forward error analysis on values.

An error is an array (or a number) that bounds the difference of each element. It follows from the
operands' errors and values and from the roundoff of the type; sums and dots relate it to sums of
magnitudes that XLA computed too (oracle.py). None: nothing is known, docs/numerics.md decides.
"""

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import scipy.special
from numpy.typing import NDArray

from neuronir.dialects.hlo.interpreter_bounds import TRIGONOMETRIC_RANGE
from tests.differential.second.program import Array, Instr, Program

Error = NDArray[np.float64] | float | None
Wide = NDArray[np.float64]

# Library functions are right to about this many units of the last place, on both sides.
_FUNCTION = 16.0
_F32 = 2.0**-24
_SIGMAS = 6.0
_VAGUE = 2.0**-4
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exponential": np.exp,
    "tanh": np.tanh,
    "logistic": scipy.special.expit,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "log": np.log,
    "exponential-minus-one": np.expm1,
    "log-plus-one": np.log1p,
    "sine": np.sin,
    "cosine": np.cos,
    "tan": np.tan,
    "erf": scipy.special.erf,
    "cbrt": np.cbrt,
}


_REPEATED = 8
"""Times that a number of an operand stands in a sum, on average, from which sums are not random."""


def errors(program: Program, values: dict[str, Array], cast: float) -> dict[str, Error]:
    """The error of each value. `cast` is the roundoff that operands of f32 dots are rounded with,
    0 where they keep their type."""
    found: dict[str, Error] = {}
    with np.errstate(all="ignore"):
        for instr in program.instrs:
            if instr.name in program.exact or instr.opcode in ("parameter", "constant"):
                found[instr.name] = 0.0
            elif instr.opcode in ("batch-norm-training", "batch-norm-grad"):
                found[instr.name] = _statistics(instr, values, found)
            elif instr.opcode == "select-and-scatter":
                found[instr.name] = _scattered(instr, values, found[instr.operands[1]])
            elif len(instr.shapes) > 1 or instr.name not in values:
                vague = any(_vague(found.get(n), values.get(n)) for n in instr.operands)
                found[instr.name] = np.inf if vague else None
            else:
                found[instr.name] = _of(instr, values, found, cast)
    return found


def _wide(array: Array) -> Wide:
    return np.asarray(array).astype(np.float64)


def _peak(error: Error, value: Wide | None) -> float:
    """The largest error of the numbers in a value."""
    assert error is not None
    array = np.asarray(error)
    if value is not None and array.shape == value.shape:
        array = array[np.isfinite(value)]
    return float(array.max(initial=0.0))


def _moved(before: list[Error], given: list[Wide | None], out: Wide) -> Error:
    """The error of values that came from anywhere in the operands. Infinities and NaN are known
    where those of the operands are."""
    peak = max(_peak(e, x) for e, x in zip(before, given, strict=True))
    unknown = any(bool(np.any(np.isinf(np.asarray(e)))) for e in before)
    return np.asarray(np.where(np.isfinite(out), peak, np.inf if unknown else 0.0))


def _statistics(instr: Instr, values: dict[str, Array], known: dict[str, Error]) -> Error:
    """Of a batch normalization: XLA takes the variance as a difference of squares, which cancels
    where a feature's elements are nearly equal; of its gradient: long sums of what has both signs.
    None where the operands are not exact."""
    if any(np.any(np.asarray(known[name])) or known[name] is None for name in instr.operands):
        return None
    x, scale, *rest = (_wide(values[name]) for name in instr.operands)
    if not x.size:
        return 0.0
    epsilon, feature = (
        float(instr.attributes.split(f"{name}=")[1].split(",")[0])
        for name in ("epsilon", "feature_index")
    )
    x = np.moveaxis(x, int(feature), -1).reshape(-1, x.shape[int(feature)])
    if instr.opcode == "batch-norm-grad":
        mean, variance, grad = rest
        grad = np.moveaxis(grad, int(feature), -1).reshape(x.shape)
        each = (2.0 + np.sqrt(len(x))) * _F32 * 2.0
        normal = (x - mean) / np.sqrt(variance + epsilon)
        sums = max(_largest(np.abs(grad * normal).sum(0)), _largest(np.abs(grad).sum(0)))
        steep = _largest(scale / np.sqrt(variance + epsilon)) * max(1.0, _largest(normal))
        return float(each * sums * max(1.0, steep / max(len(x), 1)))
    (offset,) = rest
    centred, variance = x - x.mean(0), x.var(0)
    cancelled = _FUNCTION * _F32 * (x**2).mean(0)
    slope = np.abs(centred * scale) * 0.5 * (np.maximum(variance - cancelled, 0) + epsilon) ** -1.5
    out = centred * scale / np.sqrt(variance + epsilon) + offset
    rounding = _FUNCTION * _F32 * max(_largest(out), _largest(x**2))
    return float(max(np.max(slope * cancelled, initial=0), np.max(cancelled, initial=0)) + rounding)


def _scattered(instr: Instr, values: dict[str, Array], known: Error) -> Error:
    """Of the gradient of a pooling: which of equal elements a window chooses is left to the order
    of XLA's loops, by rows or by columns, so each may or may not have what is added there."""
    x, source = (_wide(values[name]) for name in instr.operands[:2])
    if source.size == 0:
        return 0.0
    parts = {
        k: v.split("x") for k, v in re.findall(r"(size|stride|pad)=([^ }]*)", instr.attributes)
    }
    size, stride = ([int(n) for n in parts[key]] for key in ("size", "stride"))
    around = [[int(n) for n in part.split("_")] for part in parts["pad"]]
    best = x if "direction=G" in instr.computations[0] else -x
    padded = np.pad(best, around, constant_values=-np.inf)
    steps = tuple(slice(None, None, n) for n in stride)
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)[steps]
    inner = tuple(range(x.ndim, 2 * x.ndim))
    chosen = windows == windows.max(inner, keepdims=True)
    tied = chosen & (chosen.sum(inner, keepdims=True) > 1)
    if known is None:
        return np.inf if tied.any() else None
    added, moved = np.zeros(padded.shape), np.zeros(padded.shape)
    for place in np.ndindex(*size):
        ends = zip(place, source.shape, stride, strict=True)
        here = tuple(slice(p, p + (n - 1) * step + 1, step) for p, n, step in ends)
        every = (slice(None),) * x.ndim
        added[here] += np.abs(source) * chosen[every + place]
        moved[here] += np.abs(source) * tied[every + place]
    middle = tuple(slice(low, low + n) for (low, _), n in zip(around, x.shape, strict=True))
    rounding = 2.0 * instr.terms * _roundoff(instr) * added + instr.terms * _peak(known, source)
    return np.asarray((moved + rounding + _least(instr))[middle])


def _vague(error: Error, value: Array | None) -> bool:
    """Whether so little is known of an operand that noise does not tell what loops make of it."""
    if error is None or value is None:
        return bool(np.any(np.isinf(np.asarray(error)))) if error is not None else False
    return _peak(error, _wide(value)) > _VAGUE * _largest(value)


def _largest(array: Array) -> float:
    wide = np.abs(_wide(array))
    finite = wide[np.isfinite(wide)]
    return float(finite.max()) if finite.size else 0.0


def _roundoff(instr: Instr) -> float:
    if not instr.shape.floating:
        return 0.0
    return float(ml_dtypes.finfo(instr.shape.numpy).eps) / 2.0


def _least(instr: Instr) -> float:
    """Half the distance of the smallest numbers; XLA flushes f32 below the normal ones."""
    if not instr.shape.floating:
        return 0.0
    info = ml_dtypes.finfo(instr.shape.numpy)
    return float(
        max(
            info.smallest_normal if instr.shape.dtype in ("f32", "bf16") else 0,
            info.tiny * info.eps,
        )
    )


def _of(instr: Instr, values: dict[str, Array], known: dict[str, Error], cast: float) -> Error:
    if instr.rule == "squared":
        # A part of a complex square: products that cancel.
        return 8.0 * _F32 * float(np.max(np.abs(values[instr.operands[0]]), initial=0.0))
    before = [known[name] for name in instr.operands]
    if any(error is None for error in before) or not instr.rule:
        return np.inf if instr.rule == "tan" else None  # a pole may be near
    out = _wide(values[instr.name])
    given = [_wide(values[name]) if name in values else None for name in instr.operands]
    unit = _roundoff(instr)
    own: Wide = 2.0 * unit * np.abs(out) + _least(instr)
    if instr.rule in ("dot", "sum"):
        scale = _wide(values[f"{instr.name}_s"])
        return _combined(instr, given, before, scale, own, cast)
    if instr.rule == "products":
        largest = max(_largest(x) for x in given if x is not None)
        long = instr.terms * np.log2(max(largest, 1.0)) > 120
        worst = max(
            float(np.max(np.abs(np.asarray(e) / np.abs(x)), initial=0.0)) if _peak(e, x) else 0.0
            for e, x in zip(before, given, strict=True)
            if x is not None
        )
        bound: Wide = np.abs(out) * (instr.terms * (4.0 * _F32 + 2.0 * unit + worst)) + own
        # Some orders end in an infinity, and from there in NaN, or in a zero.
        lost = long & ((out == 0.0) | ~np.isfinite(out))
        if instr.shape.dtype == "f16":  # on the way they may have lost digits below the normal ones
            lost |= np.abs(out) < 16.0 * float(np.finfo(np.float16).smallest_normal)
        return np.asarray(np.where(lost, np.inf, bound))
    if instr.rule in ("move", "choices"):
        if all(not np.any(np.asarray(e)) for e in before):
            return _least(instr)
        same = len(before) == 1 and instr.opcode in ("abs", "negate", "copy", "opt-barrier")
        return before[0] if same else _moved(before, given, out)
    error = _elementwise(instr, given, before, out, unit)
    if error is None:
        return None
    total = np.broadcast_to(np.asarray(error) + own, out.shape).copy()
    # An infinity or NaN must come out where the operands are known; else nothing is known of it.
    odd = ~np.isfinite(out)
    known_operands = np.zeros(out.shape, bool)
    known_operands[...] = True
    for e in before:
        known_operands &= np.broadcast_to(np.asarray(e) == 0.0, out.shape)
    total[odd & known_operands] = 0.0
    total[(odd | np.isnan(total)) & ~known_operands] = np.inf
    return total


def _combined(
    instr: Instr,
    given: list[Wide | None],
    before: list[Error],
    scale: Wide,
    own: Any,
    cast: float,
) -> Error:
    terms = max(instr.terms, 1)
    worst = max(_peak(e, x) for e, x in zip(before, given, strict=True))
    sums = (4.0 + 2.0 * np.sqrt(terms)) * _F32
    if instr.rule == "sum":
        # XLA may round each addition to a narrow type, one after the other: a long sum stands still
        # when it is large beside what is added.
        narrow = _roundoff(instr)
        if narrow > _F32:
            sums = max(sums, min(1.0, (2.0 + terms) * narrow))
        return np.asarray(sums * scale + own + terms * worst)
    a, b = given
    assert a is not None and b is not None
    size = np.sqrt(scale)
    # Roundings of equal numbers are equal, and add up; in all no more than twice each product's.
    equal = terms / min(terms, *(max(len(np.unique(x)), 1) for x in (a, b)))
    together = min(_SIGMAS * np.sqrt(equal), 2.0 * np.sqrt(terms))
    if equal >= _REPEATED:  # so do those of partial sums that grow by the same number
        sums = max(sums, terms * _F32)
    error = size * (max(_SIGMAS, together) * cast + sums * np.sqrt(min(terms, 64)))
    crossed = _peak(before[0], a) * _largest(b) + _peak(before[1], b) * _largest(a)
    return np.asarray(error + own + terms * crossed)


def _elementwise(
    instr: Instr, given: list[Wide | None], before: list[Error], out: Wide, unit: float
) -> Wide | None:
    rule = instr.rule
    xs = [x for x in given if x is not None]
    es = [np.asarray(e) for e in before]
    if rule in _FUNCTIONS:
        f = _FUNCTIONS[rule]
        x, e = xs[0], es[0]
        middle = f(x)
        spread = np.maximum(np.abs(f(x + e) - middle), np.abs(f(x - e) - middle))
        if rule in ("sine", "cosine"):  # they turn between the ends
            spread = np.minimum(np.broadcast_to(e, x.shape), 2.0)
        if rule in ("sine", "cosine", "tan"):  # nothing is promised beyond (docs/numerics.md)
            spread = np.where(np.abs(x) > 2.0**20, np.inf, spread)
        if rule == "tan":  # a pole between the ends
            ends = [np.floor((x + way * e) / np.pi + 0.5) for way in (-1, 1)]
            spread = np.where(ends[0] != ends[1], np.inf, spread)
        # Sine and cosine are right to a step of 1, which is not relative near their zeros; the
        # tangent is their quotient.
        near = 2.0 * _F32 * (1.0 + out**2) if rule in ("sine", "cosine", "tan") else 0.0
        if rule in ("sine", "cosine", "tan"):  # beyond its range it may be that of any angle
            near = np.where(np.abs(x) > TRIGONOMETRIC_RANGE, 2.0 if rule != "tan" else np.inf, near)
        # XLA writes some functions of narrow types out, with a rounding after each step.
        steps = 8.0 * unit if unit > _F32 else 0.0
        relative = (_FUNCTION * _F32 + steps) * np.abs(out)
        # XLA computes a logistic of f16 in f16, where its exponential ends sooner.
        half = instr.shape.dtype == "f16" and rule == "logistic"
        least = float(np.finfo(np.float16).smallest_normal) if half else 0.0
        known = np.isfinite(spread) & (e == 0.0)
        return np.asarray(np.where(known, 0.0, spread) + relative + near + least)
    if rule == "convert":
        return np.asarray(es[0])
    if rule == "choice":
        return np.asarray(np.max(np.stack([np.broadcast_to(e, out.shape) for e in es]), axis=0))
    if rule in ("add", "subtract"):
        return np.asarray(es[0] + es[1])
    x, y = xs
    if rule == "multiply":
        return np.asarray(np.abs(x) * es[1] + np.abs(y) * es[0] + es[0] * es[1])
    if rule == "divide":
        least = np.abs(y) - es[1]
        spread = np.where(least > 0.0, (es[0] + np.abs(out) * es[1]) / least, np.inf)
        error = np.where((es[0] == 0.0) & (es[1] == 0.0), 0.0, spread)
        # XLA multiplies by the reciprocal of what is broadcast, and flushes it below 2^-126.
        flushed = np.where(np.isfinite(y) & (np.abs(y) > 2.0**126), np.abs(x / y), 0.0)
        return np.asarray(error + 4 * _F32 * np.abs(out) + flushed)
    if rule == "remainder":
        return np.asarray(4 * _F32 * np.abs(y))
    if rule == "power":
        # A power of a positive number grows or falls with either operand: an end is the farthest.
        ends = [(x + i * es[0]) ** (y + j * es[1]) for i in (-1, 1) for j in (-1, 1)]
        spread = np.max(np.abs(np.stack(ends) - out), axis=0)
        spread = np.where(x - es[0] > 0.0, spread, np.inf)
        spread = np.where((es[0] == 0.0) & (es[1] == 0.0), 0.0, spread)
        grown = 1.0 + np.abs(y * np.log(np.where(x > 0, x, 1.0)))
        return np.asarray(spread + _FUNCTION * _F32 * np.abs(out) * grown)
    if rule == "atan2":
        radius = np.hypot(x, y)
        return np.asarray((es[0] + es[1]) / radius + _FUNCTION * _F32 * np.abs(out))
    return None
