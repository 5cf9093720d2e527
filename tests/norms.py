"""HLO texts of layer norms, and of a residual stream that they read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_REDUCER = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
"""


@dataclass(frozen=True)
class Parts:
    """What a stream has besides products and biases."""

    token: bool = False  # a constant row in front
    positions: bool = False  # a constant of the stream's shape is added
    first_row: bool = False  # of the last norm, the first row only
    result: bool = False  # the stream is a result too
    given: bool = False  # a part is an argument
    scaled: bool = False  # a part is multiplied after its product
    infinite: bool = False  # a bias is
    maximum: bool = False  # the stream is read by a maximum


def literal(array: NDArray[Any]) -> str:
    """A constant's numbers as HLO text."""
    if array.ndim == 0:
        return str(float(array))
    return "{" + ", ".join(literal(part) for part in array) + "}"


def norm_lines(
    name: str, source: str, rows: int, length: int, *, affine: bool = False
) -> list[str]:
    """The layer norm `name` of the rows of `source`, with a scale and an offset where asked for."""
    full, one = f"f32[{rows},{length}]", f"f32[{rows}]"
    along, across = "dimensions={1}", "dimensions={0}"
    n = name
    lines = [
        f"{n}.zero = f32[] constant(0)",
        f"{n}.n = f32[] constant({length})",
        f"{n}.ns = {one} broadcast({n}.n), dimensions={{}}",
        f"{n}.e = f32[] constant(1e-5)",
        f"{n}.es = {one} broadcast({n}.e), dimensions={{}}",
        f"{n}.sum = {one} reduce({source}, {n}.zero), {along}, to_apply=add",
        f"{n}.mean = {one} divide({n}.sum, {n}.ns)",
        f"{n}.means = {full} broadcast({n}.mean), {across}",
        f"{n}.c = {full} subtract({source}, {n}.means)",
        f"{n}.sq = {full} multiply({n}.c, {n}.c)",
        f"{n}.total = {one} reduce({n}.sq, {n}.zero), {along}, to_apply=add",
        f"{n}.var = {one} divide({n}.total, {n}.ns)",
        f"{n}.sure = {one} add({n}.var, {n}.es)",
        f"{n}.root = {one} rsqrt({n}.sure)",
        f"{n}.roots = {full} broadcast({n}.root), {across}",
    ]
    if not affine:
        return [*lines, f"{n} = {full} multiply({n}.c, {n}.roots)"]
    rng = np.random.default_rng([ord(letter) for letter in name])  # CSE would join equal ones
    scale, offset = (literal(rng.integers(4, 20, length) / 8.0 + low) for low in (0.0, -2.0))
    return [
        *lines,
        f"{n}.plain = {full} multiply({n}.c, {n}.roots)",
        f"{n}.g = f32[{length}] constant({scale})",
        f"{n}.gs = {full} broadcast({n}.g), {along}",
        f"{n}.scaled = {full} multiply({n}.plain, {n}.gs)",
        f"{n}.b = f32[{length}] constant({offset})",
        f"{n}.bs = {full} broadcast({n}.b), {along}",
        f"{n} = {full} add({n}.scaled, {n}.bs)",
    ]


def layer_norm(lines: Sequence[str], source: str, rows: int, length: int) -> str:
    """A program whose result is the norm of what `lines` make."""
    return _text([*lines, *norm_lines("n", source, rows, length)])


def pre_norm(
    tokens: int,
    features: int,
    layers: int,
    parts: Parts = Parts(),
    *,
    affine: bool = False,
    hidden: int = 0,
) -> str:
    """Layers x = x + norm(x) @ w + b on a product of the argument [tokens, features], and the norm
    of the last x; with `hidden` x = x + norm(x) @ v @ w + b, v being [features, hidden]."""
    rng = np.random.default_rng(7)
    full = f"f32[{tokens},{features}]"

    def matrix(name: str, rows: int, columns: int) -> str:
        numbers = rng.integers(-8, 12, (rows, columns)) / (2.0 * rows**0.5)
        return f"{name} = f32[{rows},{columns}] constant({literal(numbers.round(3))})"

    def vector(name: str) -> list[str]:
        numbers = rng.integers(-4, 20, features) / 8.0
        if parts.infinite:
            numbers[1] = np.inf
        given = f"{name}.v = f32[{features}] constant({literal(numbers)})"
        return [given, f"{name} = {full} broadcast({name}.v), dimensions={{1}}"]

    def dot(name: str, source: str, weights: str, columns: int) -> str:
        dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        rows = full[4:].split(",")[0]
        return f"{name} = f32[{rows},{columns}] dot({source}, {weights}), {dims}"

    def biased(name: str) -> list[str]:
        return [*vector(f"{name}.b"), f"{name} = {full} add({name}.d, {name}.b)"]

    lines = [f"x = {full} parameter(0)", matrix("w0", features, features)]
    lines += [matrix("w", hidden or features, features)]
    if hidden:
        lines += [matrix("v", features, hidden)]
    lines += [dot("x0.d", "x", "w0", features), *biased("x0")]
    rows = tokens
    if parts.scaled:
        lines += [f"s0 = {full} multiply(x0, x0)"]
    elif parts.given:
        lines += [f"s0 = {full} add(x0, x)"]
    elif parts.token:
        rows = tokens + 1
        first = f"f32[1,{features}]"
        row = literal(rng.integers(-4, 20, (1, features)) / 8.0)
        full = f"f32[{rows},{features}]"
        lines += [
            f"t = {first} constant({row})",
            f"s0 = {full} concatenate(t, x0), dimensions={{0}}",
        ]
    else:
        lines += [f"s0 = {full} copy(x0)"]
    current = "s0"
    if parts.positions:
        numbers = literal(rng.integers(-4, 20, (rows, features)) / 8.0)
        lines += [f"p = {full} constant({numbers})", f"s0p = {full} add(s0, p)"]
        current = "s0p"
    for i in range(layers):
        lines += norm_lines(f"n{i}", current, rows, features)
        source = f"n{i}"
        if hidden:
            lines += [dot(f"h{i}", source, "v", hidden)]
            source = f"h{i}"
        lines += [dot(f"y{i}.d", source, "w", features), *biased(f"y{i}")]
        lines += [f"s{i + 1} = {full} add(y{i}, {current})"]
        current = f"s{i + 1}"
    read = current
    if parts.first_row:
        lines += [f"r = f32[1,{features}] slice({current}), slice={{[0:1], [0:{features}]}}"]
        read, rows = "r", 1
    lines += norm_lines("last", read, rows, features, affine=affine)
    if parts.result:
        lines += [f"both = ({full}, {full}) tuple(last, {current})"]
    if parts.maximum:
        lines += [f"most = {full} maximum(last, {current})"]
    return _text(lines)


def post_norm(tokens: int, features: int, layers: int) -> str:
    """Layers x = norm(x + x @ w + b) on the norm of the argument [tokens, features], norms having
    scales and offsets."""
    rng = np.random.default_rng(7)
    full = f"f32[{tokens},{features}]"
    weights = (rng.integers(-8, 12, (features, features)) / (2.0 * features**0.5)).round(3)
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    lines = [
        f"x = {full} parameter(0)",
        f"w = f32[{features},{features}] constant({literal(weights)})",
        *norm_lines("n0", "x", tokens, features, affine=True),
    ]
    for i in range(layers):
        bias = literal(rng.integers(-4, 20, features) / 8.0)
        lines += [
            f"d{i} = {full} dot(n{i}, w), {dims}",
            f"b{i}.v = f32[{features}] constant({bias})",
            f"b{i} = {full} broadcast(b{i}.v), dimensions={{1}}",
            f"y{i} = {full} add(d{i}, b{i})",
            f"s{i} = {full} add(y{i}, n{i})",
            *norm_lines(f"n{i + 1}", f"s{i}", tokens, features, affine=True),
        ]
    return _text(lines)


def _text(lines: Sequence[str]) -> str:
    *body, root = lines
    inner = "\n  ".join([*body, f"ROOT {root}"])
    return f"HloModule m\n\n{_REDUCER}\nENTRY e {{\n  {inner}\n}}\n"
