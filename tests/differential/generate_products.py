"""Random programs around products: dots and convolutions, and what networks put before and after.

Constant and given vectors along every dimension, scalars, residuals, activations, casts, moves,
reductions and normalisations follow a product in any order, with several users of one value; sizes
lie around the bounds of tiles.
"""

from collections.abc import Callable, Sequence
from math import prod

from tests.differential.generate import FLOATS, Item, Pick, Program, written
from tests.differential.generate_moves import (
    concatenate,
    cut,
    gather,
    moving,
    pad,
    reshape,
    reverse,
    transpose,
)
from tests.differential.parameters import parameter, size

SMALL = (1, 2, 3, 4, 5, 8)
MAX_BATCH = 128
Step = Callable[[Program, Item], Item | None]


def products(pick: Pick, steps: int = 8) -> Program:
    """A random program that begins with one or two products and goes on for `steps` steps."""
    p = Program(pick)
    begin = pick((matrix, matrix, batched, image))
    x = multiply(p, begin(p))
    for _ in range(steps):
        floats = [i for i in p.items[-6:] if i.type in FLOATS and i.shape]
        x = pick([x, x, x, pick(floats or [x])])
        options = FOLLOWING if x.shape else (scalar, unary)
        x = pick(options)(p, x) or x
    p.items.append(x)
    return p


def matrix(p: Program) -> Item:
    """A matrix."""
    n = size(p)
    return parameter(p, p.pick(("f32", "f32", "bf16")), (n, size(p, n)))


def batched(p: Program) -> Item:
    """A tensor of three or four dimensions."""
    shape = [size(p, 1, SMALL)]
    if p.pick((False, True)):
        shape.append(size(p, prod(shape), SMALL))
    shape.append(size(p, prod(shape)))
    shape.append(size(p, prod(shape)))
    return parameter(p, p.pick(("f32", "f32", "bf16")), shape)


def image(p: Program) -> Item:
    """A batch of images, features first or last."""
    n = size(p, 1, (1, 1, 2, 3))
    h = size(p, n, (1, 2, 5, 7, 8, 14, 16))
    w = size(p, n * h, (1, 3, 7, 8, 15, 16, 33))
    c = size(p, n * h * w, (1, 3, 16, 64, 65, 128, 130, 200))
    shape = (n, c, h, w) if p.pick((True, False)) else (n, h, w, c)
    return parameter(p, p.pick(("f32", "f32", "bf16")), shape)


def multiply(p: Program, x: Item) -> Item:
    """A product of any kind that the rank of `x` allows."""
    kinds: list[Step] = [dot]
    if len(x.shape) >= 3:
        kinds += [batch_dot, batch_dot]
    if len(x.shape) == 4:
        kinds += [convolution, convolution, convolution]
    made = p.pick(kinds)(p, x)
    assert made is not None
    return made  # type: ignore[no-any-return]


def _result_type(p: Program, x: Item) -> str:
    return "f32" if x.type == "f32" else p.pick(("f32", "bf16"))


def dot(p: Program, x: Item) -> Item:
    """A product with a new parameter, one dimension contracted, either side first."""
    d = p.pick(range(len(x.shape)))
    rest = [m for k, m in enumerate(x.shape) if k != d]
    n = size(p, max(prod(rest), x.shape[d]))
    swap, first = p.pick((False, True)), p.pick((True, False))
    w = parameter(p, x.type, (n, x.shape[d]) if swap else (x.shape[d], n))
    lhs, rhs, ld, rd = (x, w, d, int(swap)) if first else (w, x, int(swap), d)
    text = f"dot({lhs.name}, {rhs.name}), lhs_contracting_dims={{{ld}}}"
    out = [*rest, n] if first else [n, *rest]
    return p.add(_result_type(p, x), out, f"{text}, rhs_contracting_dims={{{rd}}}", False)


def batch_dot(p: Program, x: Item) -> Item:
    """A product with batch dimensions, which lie anywhere in the other operand."""
    rank = len(x.shape)
    d = p.pick(range(rank))
    others = [k for k in range(rank) if k != d]
    counts = range(1, len(others) + 1)
    few = [c for c in counts if prod(x.shape[k] for k in others[:c]) <= MAX_BATCH]
    count = p.pick(few or [1])
    batch = others[:count]
    rest = [x.shape[k] for k in others[count:]]
    whole = prod(x.shape[k] for k in batch)
    n = size(p, whole * max(prod(rest), x.shape[d]))
    order = list(range(count + 2))  # batch..., contracted, new
    for i in range(len(order) - 1):
        j = p.pick(range(i, len(order)))
        order[i], order[j] = order[j], order[i]
    sizes = [*(x.shape[k] for k in batch), x.shape[d], n]
    w = parameter(p, x.type, [sizes[i] for i in order])
    wb = ",".join(str(order.index(i)) for i in range(count))
    wd = order.index(count)
    xb = ",".join(map(str, batch))
    out = [x.shape[k] for k in batch]
    if p.pick((True, False)):
        text = (
            f"dot({x.name}, {w.name}), lhs_batch_dims={{{xb}}}, lhs_contracting_dims={{{d}}}, "
            f"rhs_batch_dims={{{wb}}}, rhs_contracting_dims={{{wd}}}"
        )
        return p.add(_result_type(p, x), [*out, *rest, n], text, False)
    text = (
        f"dot({w.name}, {x.name}), lhs_batch_dims={{{wb}}}, lhs_contracting_dims={{{wd}}}, "
        f"rhs_batch_dims={{{xb}}}, rhs_contracting_dims={{{d}}}"
    )
    return p.add(_result_type(p, x), [*out, n, *rest], text, False)


def convolution(p: Program, x: Item) -> Item:
    """A convolution with strides, padding and dilation; dimensions in several orders."""
    layout = p.pick(("bf01", "b01f"))
    f = layout.index("f")
    h, w = (x.shape[layout.index(c)] for c in "01")
    cin, n = x.shape[f], x.shape[0]
    kernel = p.pick(("oi01", "01io", "01oi"))
    window = []
    spatial = []
    plain = p.pick((False, False, True))  # no strides and no dilated kernels beside input dilation
    for extent in (h, w):
        k = p.pick([k for k in (1, 2, 3, 5, 7) if k * cin <= 4000])
        stride = 1 if plain else p.pick((1, 1, 2, 3))
        low, high = p.pick((0, 1, k // 2, k - 1)), p.pick((0, 1, k // 2, k - 1))
        dilate, base = 1 if plain else p.pick((1, 1, 1, 2)), p.pick((1, 2)) if plain else 1
        reach = (k - 1) * dilate + 1
        padded = (extent - 1) * base + 1 + low + high
        if padded < reach:
            high += reach - padded
            padded = reach
        spatial.append((padded - reach) // stride + 1)
        window.append((k, stride, f"{low}_{high}", dilate, base))
    o = size(p, n * prod(spatial), (1, 2, 16, 64, 65, 128, 130, 200))
    sizes = {"o": o, "i": cin, "0": window[0][0], "1": window[1][0]}
    weights = parameter(p, x.type, [sizes[c] for c in kernel])
    text = (
        f"convolution({x.name}, {weights.name}), window={{size={window[0][0]}x{window[1][0]} "
        f"stride={window[0][1]}x{window[1][1]} pad={window[0][2]}x{window[1][2]} "
        f"lhs_dilate={window[0][4]}x{window[1][4]} rhs_dilate={window[0][3]}x{window[1][3]}}}, "
    )
    result = p.pick((layout, layout, "bf01", "b01f"))
    out = {"b": n, "f": o, "0": spatial[0], "1": spatial[1]}
    return p.add(
        _result_type(p, x),
        [out[c] for c in result],
        f"{text}dim_labels={layout}_{kernel}->{result}",
        False,
    )


def _broadcast(p: Program, v: Item, shape: Sequence[int], dims: Sequence[int]) -> Item:
    where = ",".join(map(str, dims))
    return p.add(v.type, shape, f"broadcast({v.name}), dimensions={{{where}}}", v.exact)


def _combine(p: Program, x: Item, y: Item, opcodes: Sequence[str]) -> Item:
    left, right = (x, y) if p.pick((True, True, False)) else (y, x)
    return p.add(x.type, x.shape, f"{p.pick(opcodes)}({left.name}, {right.name})", False)


def vector(p: Program, x: Item) -> Item:
    """A vector along one dimension (or more), a constant or an argument, applied."""
    rank = len(x.shape)
    dims = p.pick(
        [[d] for d in range(rank)] * 3
        + [list(range(i, j)) for i in range(rank) for j in range(i + 2, rank + 1)]
    )
    shape = [x.shape[d] for d in dims]
    constant = len(dims) == 1 and p.pick((True, True, False))
    if constant:
        kind = p.pick(("mixed", "positive", "ones", "zeros", "whole"))
        v = p.add(x.type, shape, f"constant({{{_numbers(kind, shape[0])}}})")
    else:
        v = parameter(p, x.type, shape)
    if p.pick((False, False, True)) and not constant:
        v = _activation(p, v)
    b = _broadcast(p, v, x.shape, dims)
    return _combine(p, x, b, ("add", "multiply", "add", "multiply", "subtract", "maximum"))


def _numbers(kind: str, n: int) -> str:
    if kind == "ones":
        return ", ".join(["1"] * n)
    if kind == "zeros":
        return ", ".join(["0"] * n)
    if kind == "whole":
        return ", ".join(str(i % 7 - 3) for i in range(n))
    low = 0 if kind == "mixed" else 60
    return ", ".join(f"{((i * 37 + 11) % 101 - 50 + low) / 32}" for i in range(n))


def scalar(p: Program, x: Item) -> Item:
    """A number that all elements meet."""
    c = p.add(x.type, (), f"constant({p.pick(('2', '0.25', '-3', '0.37', '1', '0'))})")
    return _combine(
        p, x, _broadcast(p, c, x.shape, ()), ("add", "multiply", "subtract", "maximum", "minimum")
    )


def given_scalar(p: Program, x: Item) -> Item:
    """An argument of no dimensions."""
    return _combine(
        p, x, _broadcast(p, parameter(p, x.type, ()), x.shape, ()), ("add", "multiply", "subtract")
    )


def residual(p: Program, x: Item) -> Item:
    """Another value of the same shape, new or old, added."""
    same = [i for i in p.items if (i.type, i.shape) == (x.type, x.shape)]
    y = p.pick([*same, None, None]) or parameter(p, x.type, x.shape)
    return _combine(p, x, y, ("add", "add", "subtract", "multiply", "maximum"))


def _activation(p: Program, x: Item) -> Item:
    return p.add(
        x.type, x.shape, f"{p.pick(('tanh', 'logistic', 'negate', 'abs'))}({x.name})", False
    )


def unary(p: Program, x: Item) -> Item:
    """An activation function."""
    return _activation(p, x)


def relu(p: Program, x: Item) -> Item:
    """max(x, 0)."""
    zero = _broadcast(p, p.add(x.type, (), "constant(0)"), x.shape, ())
    left, right = (x, zero) if p.pick((True, False)) else (zero, x)
    return p.add(x.type, x.shape, f"maximum({left.name}, {right.name})", False)


def gelu(p: Program, x: Item) -> Item:
    """gelu by tanh, as frameworks print it."""

    def number(text: str) -> Item:
        return _broadcast(p, p.add(x.type, (), f"constant({text})"), x.shape, ())

    cube = p.add(x.type, x.shape, f"multiply({x.name}, {x.name})", False)
    cube = p.add(x.type, x.shape, f"multiply({cube.name}, {x.name})", False)
    cube = p.add(x.type, x.shape, f"multiply({cube.name}, {number('0.044715').name})", False)
    inner = p.add(x.type, x.shape, f"add({x.name}, {cube.name})", False)
    inner = p.add(x.type, x.shape, f"multiply({inner.name}, {number('0.797884583').name})", False)
    inner = p.add(x.type, x.shape, f"tanh({inner.name})", False)
    inner = p.add(x.type, x.shape, f"add({inner.name}, {number('1').name})", False)
    inner = p.add(x.type, x.shape, f"multiply({inner.name}, {number('0.5').name})", False)
    return p.add(x.type, x.shape, f"multiply({x.name}, {inner.name})", False)


def cast(p: Program, x: Item) -> Item:
    """To the other float type."""
    return p.add("bf16" if x.type == "f32" else "f32", x.shape, f"convert({x.name})", False)


def _reduce(p: Program, x: Item, dims: Sequence[int], opcode: str) -> Item:
    initial = {"add": "0", "maximum": "-inf", "minimum": "inf"}[opcode]
    c = p.add(x.type, (), f"constant({initial})")
    region = p.reducer(opcode, x.type)
    shape = [n for d, n in enumerate(x.shape) if d not in dims]
    where = ",".join(map(str, dims))
    text = f"reduce({x.name}, {c.name}), dimensions={{{where}}}, to_apply={region}"
    return p.add(x.type, shape, text, False)


def _some_dims(p: Program, x: Item) -> list[int]:
    return [d for d in range(len(x.shape)) if p.pick((False, True))] or [len(x.shape) - 1]


def reduce(p: Program, x: Item) -> Item:
    """A reduction over any dimensions."""
    return _reduce(p, x, _some_dims(p, x), p.pick(("add", "add", "maximum", "minimum")))


def centre(p: Program, x: Item) -> Item:
    """A reduction, broadcast back and combined with what it came from."""
    dims = _some_dims(p, x)
    r = _reduce(p, x, dims, p.pick(("add", "maximum")))
    if p.pick((False, True)):
        r = scalar(p, r)
    kept = [d for d in range(len(x.shape)) if d not in dims]
    return _combine(p, x, _broadcast(p, r, x.shape, kept), ("subtract", "add", "multiply"))


def softmax(p: Program, x: Item) -> Item:
    """exp(x - max) / sum along one dimension."""
    d = p.pick(range(len(x.shape)))
    kept = [k for k in range(len(x.shape)) if k != d]
    top = _broadcast(p, _reduce(p, x, [d], "maximum"), x.shape, kept)
    e = p.add(x.type, x.shape, f"subtract({x.name}, {top.name})", False)
    e = p.add(x.type, x.shape, f"exponential({e.name})", False)
    total = _broadcast(p, _reduce(p, e, [d], "add"), x.shape, kept)
    return p.add(x.type, x.shape, f"divide({e.name}, {total.name})", False)


def normalise(p: Program, x: Item) -> Item:
    """Layer, group, batch or RMS normalisation by its formula."""
    dims = _some_dims(p, x)
    kept = [d for d in range(len(x.shape)) if d not in dims]
    n = prod(x.shape[d] for d in dims)
    shape = [x.shape[d] for d in kept]

    def mean(v: Item) -> Item:
        total = _reduce(p, v, dims, "add")
        c = _broadcast(p, p.add(x.type, (), f"constant({n})"), shape, ())
        return p.add(x.type, shape, f"divide({total.name}, {c.name})", False)

    y = x
    if p.pick((True, True, False)):
        m = _broadcast(p, mean(x), x.shape, kept)
        y = p.add(x.type, x.shape, f"subtract({x.name}, {m.name})", False)
    square = p.add(x.type, x.shape, f"multiply({y.name}, {y.name})", False)
    v = mean(square)
    eps = _broadcast(p, p.add(x.type, (), "constant(0.01)"), shape, ())
    v = p.add(x.type, shape, f"add({v.name}, {eps.name})", False)
    v = p.add(x.type, shape, f"rsqrt({v.name})", False)
    return p.add(
        x.type, x.shape, f"multiply({y.name}, {_broadcast(p, v, x.shape, kept).name})", False
    )


def choose(p: Program, x: Item) -> Item:
    """A choice by a given mask, which may be broadcast, or by a comparison of positions."""
    dims = _some_dims(p, x)
    shape = [x.shape[d] for d in dims]
    if p.pick((False, True)) and len(x.shape) > 1:
        i = p.add("s32", x.shape, f"iota(), iota_dimension={len(x.shape) - 1}")
        j = p.add("s32", x.shape, f"iota(), iota_dimension={len(x.shape) - 2}")
        mask = p.add(
            "pred", x.shape, f"compare({i.name}, {j.name}), direction={p.pick(('LE', 'GT'))}"
        )
    else:
        mask = parameter(p, "pred", shape)
        mask = _broadcast(p, mask, x.shape, dims)
    c = _broadcast(p, p.add(x.type, (), f"constant({p.pick(('-1000', '0', '0.5'))})"), x.shape, ())
    same = [i for i in p.items if (i.type, i.shape) == (x.type, x.shape)]
    other = p.pick([c, p.pick(same)])
    left, right = (x, other) if p.pick((True, False)) else (other, x)
    return p.add(x.type, x.shape, f"select({mask.name}, {left.name}, {right.name})", False)


def loop(p: Program, x: Item) -> Item | None:
    """A while with a static trip count whose body multiplies the carried value."""
    if len(x.shape) != 2 or x.type != "f32" or x.shape[1] > 200:
        return None
    n = x.shape[1]
    w = parameter(p, "f32", (n, n))
    trips = p.pick((1, 2, 3))
    k = len(p.lines)
    xs = parameter(p, "f32", (trips, *x.shape))
    ys = p.add(
        "f32",
        (trips, *x.shape),
        f"broadcast({p.add('f32', (), 'constant(0)').name}), dimensions={{}}",
    )
    shape, square, stacked = (written("f32", s) for s in (x.shape, (n, n), xs.shape))
    row = written("f32", (1, *x.shape))
    sizes = ",".join(map(str, (1, *x.shape)))
    state = f"(s32[], {shape}, {square}, {stacked}, {stacked})"
    opcode = p.pick(("tanh", "logistic"))
    p.regions[f"body{k}"] = f"""body{k} {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = {shape} get-tuple-element(s), index=1
  w = {square} get-tuple-element(s), index=2
  xs = {stacked} get-tuple-element(s), index=3
  ys = {stacked} get-tuple-element(s), index=4
  zero = s32[] constant(0)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  part = {row} dynamic-slice(xs, i, zero, zero), dynamic_slice_sizes={{{sizes}}}
  flat = {shape} reshape(part)
  product = {shape} dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  sum = {shape} add(product, flat)
  y = {shape} {opcode}(sum)
  wide = {row} reshape(y)
  stacked = {stacked} dynamic-update-slice(ys, wide, i, zero, zero)
  ROOT t = {state} tuple(next, y, w, xs, stacked)
}}
"""
    p.regions[f"condition{k}"] = f"""condition{k} {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({trips})
  ROOT c = pred[] compare(i, n), direction=LT
}}
"""
    zero = p.add("s32", (), "constant(0)")
    name = f"v{len(p.lines)}"
    p.lines.append(
        f"{name}s = {state} tuple({zero.name}, {x.name}, {w.name}, {xs.name}, {ys.name})"
    )
    p.lines.append(f"{name}t = {state} while({name}s), condition=condition{k}, body=body{k}")
    which = p.pick((1, 4))
    shape_out = x.shape if which == 1 else xs.shape
    return p.add("f32", shape_out, f"get-tuple-element({name}t), index={which}", False)


def again(p: Program, x: Item) -> Item:
    """One more product."""
    return multiply(p, x)


FOLLOWING: tuple[Step, ...] = (
    *(vector,) * 8,
    *(scalar,) * 3,
    *(residual,) * 3,
    *(unary, relu, gelu) * 2,
    *(again,) * 4,
    *(transpose,) * 3,
    *(reshape, cast, centre, reduce) * 2,
    given_scalar,
    cut,
    pad,
    concatenate,
    reverse,
    softmax,
    normalise,
    choose,
    moving,
    gather,
    loop,
)
