"""Random small HLO programs, and inputs for them.

A program is drawn through `pick(options)`, so that hypothesis can shrink it and a seed can repeat
it. Values remember whether they are exact (the same bits by any order of evaluation): only such
values are compared or converted to integers, where a last bit could decide.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Pick = Callable[[Sequence[Any]], Any]
Array = NDArray[Any]

SIZES = (1, 2, 3, 7, 16, 120, 128, 129, 197, 760)
MAX_ELEMENTS = 40_000
TYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "s32": np.dtype(np.int32),
    "u8": np.dtype(np.uint8),
    "pred": np.dtype(np.bool_),
}
FLOATS = ("f32", "bf16")
INTEGERS = ("s32", "u8")


@dataclass(frozen=True)
class Item:
    """A value of the program."""

    name: str
    type: str
    shape: tuple[int, ...]
    exact: bool = True


@dataclass
class Program:
    """HLO text as it grows."""

    pick: Pick
    lines: list[str] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    parameters: list[Item] = field(default_factory=list)
    regions: dict[str, str] = field(default_factory=dict)

    def add(self, type_: str, shape: Sequence[int], text: str, exact: bool = True) -> Item:
        """Append an instruction."""
        item = Item(f"v{len(self.lines)}", type_, tuple(shape), exact)
        self.lines.append(f"{item.name} = {written(type_, shape)} {text}")
        self.items.append(item)
        return item

    def reducer(self, opcode: str, type_: str) -> str:
        """The name of a region that applies `opcode`."""
        name = f"{opcode}_{type_}"
        self.regions[name] = (
            f"{name} {{\n  a = {type_}[] parameter(0)\n  b = {type_}[] parameter(1)\n"
            f"  ROOT c = {type_}[] {opcode}(a, b)\n}}\n"
        )
        return name

    def text(self) -> str:
        """The module: the last values are the results."""
        roots = self.items[-3:]
        types = ", ".join(written(r.type, r.shape) for r in roots)
        body = "\n  ".join(
            [*self.lines, f"ROOT r = ({types}) tuple({', '.join(r.name for r in roots)})"]
        )
        return (
            "HloModule m\n\n" + "\n".join(self.regions.values()) + f"\nENTRY e {{\n  {body}\n}}\n"
        )

    def inputs(self, seed: int) -> list[Array]:
        """Arguments for the parameters."""
        rng = np.random.default_rng(seed)
        return [_input(rng, p) for p in self.parameters]


def written(type_: str, shape: Sequence[int]) -> str:
    """A type as HLO writes it."""
    return f"{type_}[{','.join(map(str, shape))}]"


def _input(rng: np.random.Generator, item: Item) -> Array:
    dtype = TYPES[item.type]
    if item.type == "pred":
        return rng.integers(0, 2, item.shape).astype(np.bool_)
    if item.type in INTEGERS:
        if item.type == "s32" and rng.integers(0, 2):
            low, high = -(2**31), 2**31 - 1
        else:
            low, high = (0, 255) if item.type == "u8" else (-9, 9)
        return rng.integers(low, high, item.shape, endpoint=True).astype(dtype)
    return rng.standard_normal(item.shape).astype(np.float32).astype(dtype)


def program(pick: Pick, steps: int = 6) -> Program:
    """A random program of about `steps` instructions besides its parameters."""
    p = Program(pick)
    for i in range(pick((1, 2, 3))):
        shape = _shape(pick)
        type_ = pick(("f32", "f32", *TYPES))
        p.parameters.append(p.add(type_, shape, f"parameter({i})"))
    for _ in range(steps):
        x = pick(p.items[-4:])
        pick(_steps_for(x))(p, x)
    return p


def _shape(pick: Pick, rank: int | None = None) -> tuple[int, ...]:
    shape: list[int] = []
    for _ in range(pick((0, 1, 2, 2, 3)) if rank is None else rank):
        shape.append(pick([n for n in SIZES if n * prod(shape) <= MAX_ELEMENTS]))
    return tuple(shape)


Step = Callable[[Program, Item], None]


def _steps_for(x: Item) -> list[Step]:
    steps: list[Step] = [unary, binary, binary, broadcast, convert, select, scalar]
    if x.shape:
        steps += [transpose, reshape, cut, pad, concatenate, reverse, reduce, iota]
    if x.type in FLOATS and len(x.shape) >= 1:
        steps += [dot, dot]
    if x.shape and x.shape[0] > 1:
        steps += [dynamic_slice]
    return steps


def _like(p: Program, x: Item) -> Item:
    same = [i for i in p.items if (i.type, i.shape) == (x.type, x.shape)]
    return p.pick(same)  # type: ignore[no-any-return]


def unary(p: Program, x: Item) -> None:
    """One elementwise op of one operand."""
    exact = ["abs", "negate"] if x.type != "u8" else ["negate"]
    if x.type in FLOATS:
        opcode = p.pick([*exact, "floor", "round-nearest-even", "sign", "tanh", "logistic"])
        exact_op = opcode not in ("tanh", "logistic")
        p.add(x.type, x.shape, f"{opcode}({x.name})", x.exact and exact_op)
    elif x.type == "pred":
        p.add(x.type, x.shape, f"not({x.name})")
    else:
        p.add(x.type, x.shape, f"{p.pick([*exact, 'not', 'popcnt'])}({x.name})", x.exact)


def binary(p: Program, x: Item) -> None:
    """One elementwise op of two operands."""
    y = _like(p, x)
    if x.type == "pred":
        opcode = p.pick(("and", "or", "xor"))
    else:
        opcode = p.pick(("add", "subtract", "multiply", "maximum", "minimum"))
        if x.type in INTEGERS and p.pick((False, True)):
            opcode = p.pick(("and", "or", "xor", "divide", "remainder", "shift-right-logical"))
    p.add(x.type, x.shape, f"{opcode}({x.name}, {y.name})", x.exact and y.exact)


def scalar(p: Program, x: Item) -> None:
    """An op with a constant."""
    if x.type == "pred":
        return unary(p, x)
    number = p.pick(("2", "-3", "0.37", "1", "1000")) if x.type in FLOATS else p.pick(("1", "7"))
    c = p.add(x.type, (), f"constant({number})")
    b = p.add(x.type, x.shape, f"broadcast({c.name}), dimensions={{}}")
    opcode = p.pick(("add", "subtract", "multiply", "maximum"))
    left, right = (x, b) if p.pick((True, False)) else (b, x)
    p.add(x.type, x.shape, f"{opcode}({left.name}, {right.name})", x.exact)
    return None


def broadcast(p: Program, x: Item) -> None:
    """New dimensions, anywhere."""
    sizes = [n for n in SIZES if n * prod(x.shape) <= MAX_ELEMENTS]
    if len(x.shape) > 3 or not sizes:
        return unary(p, x)
    size = p.pick(sizes)
    place = p.pick(range(len(x.shape) + 1))
    kept = [i for i in range(len(x.shape) + 1) if i != place]
    dims = ",".join(map(str, kept))
    shape = (*x.shape[:place], size, *x.shape[place:])
    p.add(x.type, shape, f"broadcast({x.name}), dimensions={{{dims}}}", x.exact)
    return None


def convert(p: Program, x: Item) -> None:
    """Another element type."""
    targets = [t for t in TYPES if t != x.type and (x.exact or t in FLOATS)]
    p.add(p.pick(targets), x.shape, f"convert({x.name})", x.exact)


def select(p: Program, x: Item) -> None:
    """A comparison and a choice."""
    y = _like(p, x)
    if not (x.exact and y.exact):
        return binary(p, x)
    direction = p.pick(("EQ", "NE", "LT", "LE", "GT", "GE"))
    c = p.add("pred", x.shape, f"compare({x.name}, {y.name}), direction={direction}")
    z = _like(p, x)
    p.add(x.type, x.shape, f"select({c.name}, {x.name}, {z.name})", z.exact)
    return None


def transpose(p: Program, x: Item) -> None:
    """Another order of the dimensions."""
    order = list(range(len(x.shape)))
    for i in range(len(order) - 1):
        j = p.pick(range(i, len(order)))
        order[i], order[j] = order[j], order[i]
    dims = ",".join(map(str, order))
    p.add(
        x.type,
        [x.shape[i] for i in order],
        f"transpose({x.name}), dimensions={{{dims}}}",
        x.exact,
    )


def reshape(p: Program, x: Item) -> None:
    """Two dimensions joined, or one split."""
    n = prod(x.shape)
    splits = [(a, n // a) for a in SIZES if n % a == 0]
    shape = p.pick([(n,), *splits, (*x.shape, 1), (1, *x.shape)])
    p.add(x.type, shape, f"reshape({x.name})", x.exact)


def _axis(p: Program, x: Item) -> int:
    return p.pick(range(len(x.shape)))  # type: ignore[no-any-return]


def cut(p: Program, x: Item) -> None:
    """A slice along one dimension."""
    d = _axis(p, x)
    n = x.shape[d]
    low = p.pick(sorted({0, 1, n // 2, n - 1} & set(range(n))))
    high = p.pick(sorted({low + 1, (low + n + 1) // 2, n} & set(range(low + 1, n + 1))))
    step = p.pick((1, 1, 2, 3))
    ranges = [f"[{low}:{high}:{step}]" if i == d else f"[0:{m}]" for i, m in enumerate(x.shape)]
    shape = list(x.shape)
    shape[d] = -(-(high - low) // step)
    p.add(x.type, shape, f"slice({x.name}), slice={{{', '.join(ranges)}}}", x.exact)


def pad(p: Program, x: Item) -> None:
    """Padding along one dimension: outside, between, or negative."""
    d = _axis(p, x)
    n = x.shape[d]
    low, high, inner = p.pick((-1, 0, 1, 3)), p.pick((-1, 0, 2)), p.pick((0, 0, 1))
    size = n + (n - 1) * inner + low + high
    if size < 1 or size * prod(x.shape) // n > MAX_ELEMENTS:
        return reverse(p, x)
    number = "true" if x.type == "pred" else "2"
    c = p.add(x.type, (), f"constant({number})")
    config = "x".join(f"{low}_{high}_{inner}" if i == d else "0_0" for i in range(len(x.shape)))
    shape = (*x.shape[:d], size, *x.shape[d + 1 :])
    p.add(x.type, shape, f"pad({x.name}, {c.name}), padding={config}", x.exact)
    return None


def concatenate(p: Program, x: Item) -> None:
    """Two values of one type, one after the other."""
    d = _axis(p, x)
    fits = [
        i
        for i in p.items
        if i.type == x.type
        and len(i.shape) == len(x.shape)
        and all(a == b for k, (a, b) in enumerate(zip(i.shape, x.shape, strict=True)) if k != d)
    ]
    y = p.pick(fits)
    shape = (*x.shape[:d], x.shape[d] + y.shape[d], *x.shape[d + 1 :])
    text = f"concatenate({x.name}, {y.name}), dimensions={{{d}}}"
    p.add(x.type, shape, text, x.exact and y.exact)


def reverse(p: Program, x: Item) -> None:
    """Some dimension backwards."""
    p.add(x.type, x.shape, f"reverse({x.name}), dimensions={{{_axis(p, x)}}}", x.exact)


def reduce(p: Program, x: Item) -> None:
    """A reduction over one dimension or all."""
    dims = p.pick([[d] for d in range(len(x.shape))] + [list(range(len(x.shape)))])
    if x.type == "pred":
        opcode, initial = p.pick((("and", "true"), ("or", "false")))
    elif x.type in FLOATS:
        opcode, initial = p.pick((("add", "0"), ("maximum", "-inf"), ("minimum", "inf")))
    else:
        opcode, initial = p.pick((("add", "0"), ("maximum", "0"), ("minimum", "5")))
    c = p.add(x.type, (), f"constant({initial})")
    shape = [n for d, n in enumerate(x.shape) if d not in dims]
    where = ",".join(map(str, dims))
    region = p.reducer(opcode, x.type)
    exact = x.exact and (x.type not in FLOATS or opcode != "add")
    text = f"reduce({x.name}, {c.name}), dimensions={{{where}}}, to_apply={region}"
    p.add(x.type, shape, text, exact)


def iota(p: Program, x: Item) -> None:
    """Numbers along a dimension, added."""
    if x.type in ("pred", "u8", "bf16"):
        return reshape(p, x)
    i = p.add(x.type, x.shape, f"iota(), iota_dimension={_axis(p, x)}")
    p.add(x.type, x.shape, f"add({x.name}, {i.name})", x.exact)
    return None


def dot(p: Program, x: Item) -> None:
    """A product with a new parameter, contracting any dimension."""
    d = _axis(p, x)
    rows = prod(x.shape) // x.shape[d]
    sizes = [s for s in SIZES if s * max(rows, x.shape[d]) <= MAX_ELEMENTS]
    if not sizes:
        return reverse(p, x)
    n = p.pick(sizes)
    swap = p.pick((False, True))
    shape = (n, x.shape[d]) if swap else (x.shape[d], n)
    w = p.add(x.type, shape, f"parameter({len(p.parameters)})")
    p.parameters.append(w)
    rest = [m for k, m in enumerate(x.shape) if k != d]
    first = p.pick((True, False))
    lhs, rhs = (x, w) if first else (w, x)
    ld, rd = (d, int(swap)) if first else (int(swap), d)
    text = f"dot({lhs.name}, {rhs.name}), lhs_contracting_dims={{{ld}}}"
    out = [*rest, n] if first else [n, *rest]
    p.add(x.type, out, f"{text}, rhs_contracting_dims={{{rd}}}", False)
    return None
    return None


def dynamic_slice(p: Program, x: Item) -> None:
    """A slice along the first dimension from an index that is a parameter."""
    i = p.add("s32", (), f"parameter({len(p.parameters)})")
    p.parameters.append(i)
    size = p.pick(sorted({1, x.shape[0] // 2, x.shape[0] - 1}))
    zero = p.add("s32", (), "constant(0)")
    starts = ", ".join([i.name, *[zero.name] * (len(x.shape) - 1)])
    shape = (size, *x.shape[1:])
    sizes = ",".join(map(str, shape))
    text = f"dynamic-slice({x.name}, {starts}), dynamic_slice_sizes={{{sizes}}}"
    p.add(x.type, shape, text, x.exact)
