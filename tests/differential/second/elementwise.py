"""Elementwise ops: arithmetic, functions, bits, comparisons, selections, conversions."""

from tests.differential.second.draw import USUAL, Draw, Value
from tests.differential.second.program import INTEGERS, Shape

_SIGNED = ("s32", "s8", "s16")
_INTS = ("s32", "u32", "s8", "u8", "s16", "u16", "s64", "u64")
_WIDE = ("f32", "f32", "f32", "bf16", "f16", "f8e5m2", "f8e4m3")
_NUMBERS = (*_WIDE, "s32", "u32", "s8", "u8", "s16", "u16")
_ORDER = ("f32", "bf16", "s32", "f16", "u32", "s8", "u8", "s16", "u16", "pred", "f8e5m2", "f8e4m3")
_BITS = {
    1: ("s8", "u8", "f8e5m2", "f8e4m3"),
    2: ("s16", "u16", "bf16", "f16"),
    4: ("s32", "u32", "f32"),
    8: ("s64", "u64", "f64"),
}
FUNCTIONS = {
    "exponential": "normal",
    "tanh": "",
    "logistic": "",
    "sqrt": "",
    "rsqrt": "positive",
    "log": "",
    "exponential-minus-one": "normal",
    "log-plus-one": "positive",
    "sine": "normal",
    "cosine": "normal",
    "tan": "unit",
    "erf": "",
    "cbrt": "",
}
"""Functions with the domain of a new operand; the empty one allows special values."""


def function(draw: Draw) -> Value:
    """A function of floats."""
    name = draw.pick(list(FUNCTIONS))
    domain = FUNCTIONS[name]
    dtypes = ("f32", "f32", "bf16", "f16")
    x = draw.operand(dtypes, tame=bool(domain), domain=domain)
    wild = x.wild or not domain
    return draw.add(name, x.shape, [x], rule=name, exact=False, wild=wild)


def plain_unary(draw: Draw) -> Value:
    """Ops that keep a type and round nothing."""
    name = draw.pick(
        (
            "negate",
            "abs",
            "floor",
            "ceil",
            "round-nearest-even",
            "round-nearest-afz",
            "sign",
            "not",
            "popcnt",
            "count-leading-zeros",
            "is-finite",
        )
    )
    if name in ("negate", "abs"):
        # XLA flushes subnormals here or not, by how it writes the op.
        x = draw.operand((*_WIDE, *_SIGNED), tiny=False)
        return draw.add(name, x.shape, [x], rule="move")
    if name in ("not", "popcnt", "count-leading-zeros"):
        x = draw.operand(("pred", *_INTS) if name == "not" else _INTS)
        return draw.add(name, x.shape, [x])
    if name == "is-finite":
        x = draw.operand(("f32", "bf16", "f16"), exact=True)
        return draw.add(name, Shape("pred", x.dims), [x])
    if name == "sign":
        x = draw.operand(("f32", "bf16", "f16", *_SIGNED), exact=True)
    else:
        x = draw.operand(("f32", "bf16", "f16"), exact=True)
    return draw.add(name, x.shape, [x])


def arithmetic(draw: Draw) -> Value:
    """Add, subtract, multiply, divide and others of two operands."""
    names = ("add", "multiply", "subtract", "maximum", "minimum", "divide", "remainder", "power")
    name = draw.pick((*names, "atan2"))
    if name in ("maximum", "minimum"):
        x = draw.operand(_NUMBERS)
        y = draw.like(x.shape)
        return draw.add(name, x.shape, [x, y], rule="choice", signed=False)
    if name in ("divide", "remainder"):
        exact = name == "remainder"
        x = draw.operand((*_WIDE[:5], *_INTS), exact=exact)
        # A quotient near 0 / 0 says nothing where the operands are rounded.
        y = draw.like(x.shape, exact=True, domain="" if x.exact else "positive")
        keep = x.dtype in INTEGERS or (exact and x.dtype != "f32")
        return draw.add(name, x.shape, [x, y], rule=name, exact=keep, wild=True, signed=False)
    if name == "power":
        x = draw.operand(("f32", "f32", "bf16", "s32", "u8"), tame=True)
        if x.dtype in INTEGERS:
            y = draw.like(x.shape, domain="positive")
        else:
            x = draw.add("abs", x.shape, [x], rule="move")
            y = draw.like(x.shape, domain=draw.pick(("unit", "normal")))
        return draw.add(name, x.shape, [x, y], rule="power", exact=False, wild=True)
    if name == "atan2":
        x = draw.operand(("f32", "bf16"), tame=True)
        y = draw.like(x.shape, domain="positive")
        return draw.add(name, x.shape, [x, y], rule="atan2", exact=False)
    x = draw.operand(_NUMBERS)
    y = draw.like(x.shape)
    # XLA's compiler may join a product and a sum of f32 into one rounding.
    fused = name == "multiply" and x.dtype == "f32"
    exact = x.exact and y.exact and not fused and not x.dtype.startswith("f8")
    return draw.add(name, x.shape, [x, y], rule=name, exact=exact)


def logical(draw: Draw) -> Value:
    """Bits: and, or, xor, shifts."""
    names = ("and", "or", "xor", "shift-left", "shift-right-logical", "shift-right-arithmetic")
    name = draw.pick(names)
    dtypes = _INTS if name.startswith("shift") else ("pred", *_INTS)
    x = draw.operand(dtypes)
    y = draw.like(x.shape)
    return draw.add(name, x.shape, [x, y])


def comparison(draw: Draw) -> Value:
    """Compare two values that are known to the last bit."""
    x = draw.operand(_ORDER, exact=True)
    y = draw.like(x.shape, exact=True)
    way = draw.pick(("LT", "GT", "EQ", "NE", "LE", "GE"))
    total = x.shape.floating and not x.wild and not y.wild and draw.chance(10)
    kind = ", type=TOTALORDER" if total and x.signed and y.signed else ""
    return draw.add("compare", Shape("pred", x.dims), [x, y], f", direction={way}{kind}")


def selection(draw: Draw) -> Value:
    """Select by a mask or by one flag; clamp to bounds or to one range."""
    x = draw.operand(USUAL)
    scalar = Shape(x.dtype)
    if draw.pick([True, False]) or x.dtype == "pred":
        one = bool(x.dims) and draw.chance(4)
        flag = draw.like(Shape("pred", () if one else x.dims))
        return draw.add("select", x.shape, [flag, x, draw.like(x.shape)], rule="choice")
    bounds = scalar if draw.pick([True, False]) else x.shape
    ends = [draw.like(bounds, tame=True) for _ in range(2)]
    # XLA simplifies clamps as if the bounds were in order, so that they have to be.
    low, high = (
        draw.add(opcode, bounds, ends, rule="choice", signed=False)
        for opcode in ("minimum", "maximum")
    )
    return draw.add("clamp", x.shape, [low, x, high], rule="choice", signed=False)


def conversion(draw: Draw) -> Value:
    """Convert between any two types, take the bits of one as another, or round."""
    kind = draw.pick(("convert", "convert", "convert", "bitcast-convert", "reduce-precision"))
    if kind == "convert":
        x = draw.operand(USUAL)
        wanted = draw.dtype()
        whole = wanted in INTEGERS or wanted == "pred"
        if x.shape.floating and whole and not x.exact:
            wanted = draw.pick(("f32", "bf16", "f16"))
        return draw.add("convert", Shape(wanted, x.dims), [x], rule="convert")
    x = draw.operand(("f32", "s32", "u32", "bf16", "f16", "s8", "u8", "s16", "u16"), exact=True)
    if kind == "reduce-precision":
        x = draw.operand(("f32", "f32", "bf16", "f16"), exact=True)
        most = {"f32": (8, 23), "bf16": (8, 7), "f16": (5, 10)}[x.dtype]
        bits = draw.pick([(8, 7), (5, 10), (4, 3), (5, 2), (8, 10), (6, 4)])
        exponent, mantissa = min(bits[0], most[0]), min(bits[1], most[1])
        if (exponent, mantissa) == most:
            mantissa -= 1  # XLA takes the type's own format for no rounding at all.
        attributes = f", exponent_bits={exponent}, mantissa_bits={mantissa}"
        return draw.add("reduce-precision", x.shape, [x], attributes)
    if (x.wild or not x.signed) and x.shape.floating:
        x = draw.parameter(Shape(x.dtype, x.dims), "normal")
    width = x.shape.numpy.itemsize
    wanted = draw.pick([t for t in _BITS[width] if not t.startswith("f8")])
    dims = x.dims
    if draw.chance(5):
        other = draw.pick([w for w in (1, 2, 4) if w != width])
        if other < width:
            dims = (*dims, width // other)
            wanted = _BITS[other][draw.pick([0, 1])]
        elif dims and dims[-1] == other // width:
            dims = dims[:-1]
            wanted = _BITS[other][draw.pick([0, 1])]
    # Any bits may come out: NaN, subnormals.
    odd = Shape(wanted).floating
    return draw.add("bitcast-convert", Shape(wanted, dims), [x], wild=odd, tiny=odd, rule="move")


OPS = (arithmetic, function, plain_unary, comparison, selection, conversion, logical)
