"""Random HLO programs with one loop, whose states exchange their values.

The trip count is a constant, an argument, or follows from a condition on a state: a shift register
of 16 bits with feedback, whose arithmetic is exact, so that rounding does not decide.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

SHAPES = ((32, 32), (64, 24), (96,), (5, 7, 16), (128, 64))
OPS = (
    *("average", "difference", "half", "maximum", "negate", "abs", "cosine", "tanh"),
    *("reverse", "turn", "select", "choose"),
)
"""Operations on states. Selects choose by position or by iteration, without rounding errors."""


@dataclass(frozen=True)
class LoopProgram:
    """The text of a program with `states` arrays of `shape` and a trip count as arguments.

    If the loop ends by a `condition`, the argument is the first value of a shift register, and the
    count is the limit of iterations. Else, if the count is not `computed`, the program does not
    read its argument. The last result is the number of iterations.
    """

    text: str
    states: int
    shape: tuple[int, ...]
    count: int
    computed: bool
    condition: bool
    argument: int


def loop_program(seed: int) -> LoopProgram:
    """Return the program of a seed. No state grows, so that errors stay small."""
    draw = random.Random(seed)
    shape = draw.choice(SHAPES)
    computed = draw.random() < 0.5
    count = draw.choice((6, 70)) if computed else 70
    condition = draw.random() < 0.4
    argument = draw.randrange(1, 1 << 16) if condition else count
    states = draw.randint(2, 4)
    array = f"f32[{','.join(map(str, shape))}]"
    carried = f"({', '.join(['s32[]', 's32[]'] + [array] * states)})"
    limit = "get-tuple-element(p), index=1"
    if condition or not computed:
        limit = f"constant({count})"
    arguments = [f"{array} parameter({i})" for i in range(states)]
    names = [f"x{i}" for i in range(states)]
    text = f"""HloModule loop

body {{
  p = {carried} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(i, one)
  number = f32[] constant(0.5)
  half = {array} broadcast(number), dimensions={{}}
  {_lines(_shift() if condition else [])}
  {_body(draw, array, shape, states, "following" if condition else "n")}
}}

cond {{
  p = {carried} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] {limit}
  {_lines(_more(draw) if condition else ["ROOT c = pred[] compare(i, n), direction=LT"])}
}}

ENTRY e {{
  {_lines(f"{name} = {value}" for name, value in zip(names, arguments, strict=True))}
  n = s32[] parameter({states})
  zero = s32[] constant(0)
  begin = {carried} tuple(zero, n, {", ".join(names)})
  end = {carried} while(begin), condition=cond, body=body
  {_lines(f"y{i} = {array} get-tuple-element(end), index={i + 2}" for i in range(states))}
  rounds = s32[] get-tuple-element(end), index=0
  ROOT r = ({", ".join([array] * states)}, s32[]) tuple({_names(states)}, rounds)
}}
"""
    return LoopProgram(text, states, shape, count, computed, condition, argument)


def _names(states: int) -> str:
    return ", ".join(f"y{i}" for i in range(states))


def _shift() -> list[str]:
    """Shift the register n by one bit."""
    return [
        "low = s32[] and(n, one)",
        "odd = pred[] compare(low, one), direction=EQ",
        "mask = s32[] constant(46080)",
        "feedback = s32[] select(odd, mask, zero)",
        "shifted = s32[] shift-right-logical(n, one)",
        "following = s32[] xor(shifted, feedback)",
    ]


def _more(draw: random.Random) -> list[str]:
    """Test some bits of the register, and the limit."""
    bits = draw.choice((1, 3, 7, 15, 63))
    return [
        "h = s32[] get-tuple-element(p), index=1",
        f"bits = s32[] constant({bits})",
        "some = s32[] and(h, bits)",
        f"wanted = s32[] constant({draw.randint(0, bits)})",
        "other = pred[] compare(some, wanted), direction=NE",
        "room = pred[] compare(i, n), direction=LT",
        "ROOT c = pred[] and(other, room)",
    ]


def _lines(lines: Iterable[str]) -> str:
    return "\n  ".join(lines)


def _body(draw: random.Random, array: str, shape: Sequence[int], states: int, limit: str) -> str:
    """Return the lines of an iteration; `limit` is the next value of the second element."""
    lines = [f"x{i} = {array} get-tuple-element(p), index={i + 2}" for i in range(states)]
    old = [f"x{i}" for i in range(states)]
    values = list(old)
    for v in range(draw.randint(1, 6)):
        op, left, right = draw.choice(OPS), draw.choice(values), draw.choice(values)
        lines += _operation(draw, op, (f"v{v}", left, right), array, shape)
        values.append(f"v{v}")
    chosen = [draw.choice(values + old) for _ in range(states)]
    carried = f"({', '.join(['s32[]', 's32[]'] + [array] * states)})"
    lines.append(f"ROOT t = {carried} tuple(next, {limit}, {', '.join(chosen)})")
    return _lines(lines)


def _operation(
    draw: random.Random, op: str, names: tuple[str, str, str], array: str, shape: Sequence[int]
) -> list[str]:
    """Return the lines of an operation; `names` are those of the result and of two operands."""
    name, a, b = names
    dims = array.removeprefix("f32")
    if op in ("average", "difference"):
        opcode = "add" if op == "average" else "subtract"
        return [
            f"{name}.whole = {array} {opcode}({a}, {b})",
            f"{name} = {array} multiply({name}.whole, half)",
        ]
    if op == "half":
        return [f"{name} = {array} multiply({a}, half)"]
    if op == "maximum":
        return [f"{name} = {array} maximum({a}, {b})"]
    if op == "reverse":
        return [f"{name} = {array} reverse({a}), dimensions={{{draw.randrange(len(shape))}}}"]
    if op == "turn":
        return _turned(name, a, array, shape)
    if op in ("select", "choose"):
        # by position: the first elements, more in each iteration; by iteration: all or none
        position = f"iota(), iota_dimension={draw.randrange(len(shape))}"
        if op == "choose":
            position = "broadcast(one), dimensions={}"
        return [
            f"{name}.position = s32{dims} {position}",
            f"{name}.limit = s32{dims} broadcast(i), dimensions={{}}",
            f"{name}.chosen = pred{dims} compare({name}.position, {name}.limit), direction=LT",
            f"{name} = {array} select({name}.chosen, {a}, {b})",
        ]
    return [f"{name} = {array} {op}({a})"]


def _turned(name: str, a: str, array: str, shape: Sequence[int]) -> list[str]:
    """Return the lines of a transpose, or of all elements in reverse order."""
    if len(shape) == 2 and shape[0] == shape[1]:
        return [f"{name} = {array} transpose({a}), dimensions={{1,0}}"]
    flat = f"f32[{prod(shape)}]"
    return [
        f"{name}.flat = {flat} reshape({a})",
        f"{name}.turned = {flat} reverse({name}.flat), dimensions={{0}}",
        f"{name} = {array} reshape({name}.turned)",
    ]
