"""Calls, loops with a static trip count, branches, maps: bodies of a few instructions."""

import numpy as np

from tests.differential.second.draw import Draw, Value
from tests.differential.second.program import Shape

_FLOATS = ("f32", "f32", "bf16", "s32", "u8")


def _steps(
    draw: Draw, shape: Shape, first: str, second: str, *, sums: bool = True
) -> tuple[list[str], str]:
    """Some lines that combine two values of one shape, without sums (which may cancel) where not
    `sums`; the last one's name."""
    lines, names = [], [first, second]
    opcodes = ("add", "subtract", "multiply", "maximum", "minimum")[0 if sums else 2 :]
    for i in range(draw.among(1, 3)):
        opcode = draw.pick(opcodes)
        a, b = names[-1], draw.pick(names)
        lines.append(f"  q{i} = {shape} {opcode}({a}, {b})")
        names.append(f"q{i}")
    if shape.dims and draw.chance(3):
        axes = ",".join(map(str, range(len(shape.dims))))
        lines.append(f"  flip = {shape} reverse({names[-1]}), dimensions={{{axes}}}")
        names.append("flip")
    return lines, names[-1]


def call(draw: Draw) -> Value:
    """A call of a computation with two arguments."""
    x = draw.operand(_FLOATS, tame=True)
    y = draw.like(x.shape, tame=True)
    name = draw.fresh("callee")
    lines, last = _steps(draw, x.shape, "a", "b")
    text = "\n".join(
        [
            f"{name} {{",
            f"  a = {x.shape} parameter(0)",
            f"  b = {x.shape} parameter(1)",
            *lines,
            f"  ROOT r = {x.shape} copy({last})",
            "}",
        ]
    )
    attributes = f", to_apply={name}"
    return draw.add(
        "call", x.shape, [x, y], attributes, exact=False, signed=False, computations=[text]
    )


def mapped(draw: Draw) -> Value:
    """A map of scalars over all elements."""
    x = draw.operand(_FLOATS, 1, tame=True)
    y = draw.like(x.shape, tame=True)
    name, scalar = draw.fresh("mapped"), Shape(x.dtype)
    lines, last = _steps(draw, scalar, "a", "b", sums=not x.shape.floating)
    text = "\n".join(
        [
            f"{name} {{",
            f"  a = {scalar} parameter(0)",
            f"  b = {scalar} parameter(1)",
            *lines,
            f"  ROOT r = {scalar} copy({last})",
            "}",
        ]
    )
    axes = ",".join(map(str, range(len(x.dims))))
    attributes = f", dimensions={{{axes}}}, to_apply={name}"
    return draw.add(
        "map", x.shape, [x, y], attributes, exact=False, signed=False, computations=[text]
    )


def loop(draw: Draw) -> Value:
    """A loop that counts to a number known beforehand; the body may read the counter."""
    x = draw.operand(_FLOATS, 0, 3, tame=True, size=6000)
    y = draw.like(x.shape, tame=True)
    trips, first = draw.pick([2, 1, 3, 5, 0]), draw.pick([0, 0, 1, -3])
    step = draw.pick([1, 1, 2])
    name, s = draw.fresh("loop"), x.shape
    lines, last = _steps(draw, s, "a", "b")
    row = bool(s.dims) and s.dims[0] > 0 and draw.pick([False, True])
    if row:
        part = Shape(s.dtype, (1, *s.dims[1:]))
        sizes = ",".join(map(str, part.dims))
        zeros = ", zero" * (len(s.dims) - 1)
        lines += [
            "  zero = s32[] constant(0)",
            f"  row = {part} dynamic-slice({last}, i{zeros}), dynamic_slice_sizes={{{sizes}}}",
            f"  next = {s} dynamic-update-slice(a, row, i{zeros})",
        ]
        last = "next"
    state = f"(s32[], {s}, {s})"
    body = "\n".join(
        [
            f"{name}_body {{",
            f"  t = {state} parameter(0)",
            "  i = s32[] get-tuple-element(t), index=0",
            f"  a = {s} get-tuple-element(t), index=1",
            f"  b = {s} get-tuple-element(t), index=2",
            *lines,
            f"  step = s32[] constant({step})",
            "  j = s32[] add(i, step)",
            f"  ROOT r = {state} tuple(j, {last}, b)",
            "}",
        ]
    )
    last_count = first + trips * step
    test = "\n".join(
        [
            f"{name}_test {{",
            f"  t = {state} parameter(0)",
            "  i = s32[] get-tuple-element(t), index=0",
            f"  n = s32[] constant({last_count})",
            "  ROOT r = pred[] compare(i, n), direction=LT",
            "}",
        ]
    )
    count = draw.constant(np.asarray(first, np.int32), "s32")
    attributes = f", condition={name}_test, body={name}_body"
    shapes = [Shape("s32"), s, s]
    return draw.leaves(
        "while",
        shapes,
        [count, x, y],
        attributes,
        exact=False,
        computations=[test, body],
        packed=True,
    )[1]


def branch(draw: Draw) -> Value:
    """One of two or three computations, by a flag or a number."""
    x = draw.operand(_FLOATS, 0, 3, tame=True, size=6000)
    by_flag = draw.pick([True, False])
    arms, texts = [], []
    for _ in range(2 if by_flag else draw.among(2, 3)):
        name = draw.fresh("arm")
        lines, last = _steps(draw, x.shape, "a", "a")
        texts.append(
            "\n".join(
                [
                    f"{name} {{",
                    f"  a = {x.shape} parameter(0)",
                    *lines,
                    f"  ROOT r = {x.shape} copy({last})",
                    "}",
                ]
            )
        )
        arms.append(name)
    if by_flag:
        chosen = draw.parameter(Shape("pred"), "normal")
        attributes = f", true_computation={arms[0]}, false_computation={arms[1]}"
    else:
        chosen = draw.parameter(Shape("s32"), f"index:0:{len(arms) - 1}")
        attributes = f", branch_computations={{{', '.join(arms)}}}"
    operands = [chosen, *[x] * len(arms)]
    return draw.add(
        "conditional",
        x.shape,
        operands,
        attributes,
        exact=False,
        signed=False,
        computations=texts,
    )


OPS = (call, loop, loop, mapped, branch)
