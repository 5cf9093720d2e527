"""Loops with states that exchange values, trip counts from data, branches, nested in each other."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.differential.second import exact, inplace, movement
from tests.differential.second.draw import Draw, Value
from tests.differential.second.inner import Inner
from tests.differential.second.program import Instr, Program, Shape
from tests.differential.second.reductions import combiner
from tests.differential.shrink import Choices

COUNTER = Shape("s32")
DEEPEST = 2
Op = Callable[[Draw], Value]


def _states(draw: Draw, most: int) -> list[Value]:
    """Some values, now and then one of them twice."""
    found = [exact.some(draw, 0, 3, 3000) for _ in range(draw.among(1, most))]
    return [draw.pick(found) if draw.chance(5) else v for v in found]


def _count(draw: Draw) -> Value:
    """A trip count from 0 to 3 that the program computes, or a number of up to 9."""
    kind = draw.pick(("masked", "masked", "reduced", "given"))
    scalars = [v for v in draw.values if v.shape == COUNTER]
    if kind == "given" and not isinstance(draw, Inner):
        return draw.parameter(COUNTER, draw.pick(("small", "positive")))
    if kind == "reduced":
        arrays = [v for v in draw.values if v.dtype == "s32" and v.dims and v.shape.size]
        if arrays:
            x = draw.pick(arrays[::-1])
            name, text = combiner(draw, "maximum", "s32")
            axes = ",".join(map(str, range(len(x.dims))))
            attributes = f", dimensions={{{axes}}}, to_apply={name}"
            operands = [x, draw.filled(0, COUNTER)]
            scalars = [draw.add("reduce", COUNTER, operands, attributes, computations=[text])]
    x = draw.pick(scalars[::-1]) if scalars else draw.parameter(COUNTER, "positive")
    return draw.add("and", COUNTER, [x, draw.filled(3, COUNTER)])


def _next(body: Inner, states: Sequence[Value]) -> list[Value]:
    """The states of the next iteration: any values of their shapes, the newest more often."""
    found = []
    for state in states:
        fit = [v for v in body.values if v.shape == state.shape and v.tame]
        found.append(body.pick([*fit[-3:], *fit[-1:], *fit]))
    return found


def loop(draw: Draw) -> Value:
    """A loop over some states; its trip count is constant or computed before."""
    return loop_over(draw, _states(draw, 4))


def until(draw: Draw) -> Value:
    """A loop that also ends by a condition on its states, or by nothing else."""
    return loop_over(draw, _states(draw, 4), until=True)


def loop_over(draw: Draw, states: Sequence[Value], *, until: bool = False) -> Value:
    """A loop over these states, of which the first is the result."""
    computed = draw.pick([True, False])
    first, step = draw.pick((0, 0, 1, -3)), draw.pick((1, 1, 2))
    way = draw.pick(("LT", "LT", "LE"))
    begin = draw.filled(first, COUNTER)
    trips = draw.pick((2, 3, 1, 0, 5))
    limit = _count(draw) if computed else draw.filled(first + trips * step, COUNTER)
    carried = [begin, limit, *states]
    name = draw.fresh("loop")
    body = Inner(draw, carried)
    counter, bound, *inside = body.leaves_of_parameter
    if not computed:
        body.values.remove(bound)
    steps(body, draw.among(1, 5))
    follow = body.add("add", COUNTER, [counter, body.filled(step, COUNTER)])
    roots = [follow, bound, *_next(body, inside)]
    test = Inner(draw, carried)
    i, n, *_ = test.leaves_of_parameter
    if not computed:
        n = test.filled(first + trips * step, COUNTER)
    goes = test.add("compare", Shape("pred"), [i, n], f", direction={way}")
    if until:
        goes = test.add("and", Shape("pred"), [goes, _wanted(test)])
    texts = [*body.texts(f"{name}_body", roots), *test.texts(f"{name}_test", [goes])]
    attributes = f", condition={name}_test, body={name}_body"
    shapes = [v.shape for v in carried]
    alike = all(v.exact for v in body.values)
    found = draw.leaves(
        "while", shapes, carried, attributes, exact=alike, computations=texts, packed=True
    )
    return found[2]


def _wanted(test: Inner) -> Value:
    """A condition on one of the states of a loop, which every correct execution decides alike."""
    state = test.pick(test.leaves_of_parameter[:1:-1])
    if state.dtype != "s32" or not state.exact:
        state = test.leaves_of_parameter[0]
    if state.dims:
        name, text = combiner(test, "maximum", "s32")
        axes = ",".join(map(str, range(len(state.dims))))
        attributes = f", dimensions={{{axes}}}, to_apply={name}"
        operands = [state, test.filled(-(2**31), COUNTER)]
        state = test.add("reduce", COUNTER, operands, attributes, computations=[text])
    bits = test.add("and", COUNTER, [state, test.filled(test.pick((1, 3, 7)), COUNTER)])
    wanted = test.filled(test.among(0, 3), COUNTER)
    return test.add("compare", Shape("pred"), [bits, wanted], ", direction=NE")


def _chosen(draw: Draw, flag: bool) -> Value:
    if not flag:
        scalars = [v for v in draw.values if v.shape == COUNTER]
        return draw.pick(scalars[::-1]) if scalars else draw.parameter(COUNTER, "index:0:2")
    flags = [v for v in draw.values if v.shape == Shape("pred")]
    scalars = [v for v in draw.values if v.shape == COUNTER]
    if scalars and not draw.chance(2):
        limit = draw.filled(draw.pick((1, 0, 2)), COUNTER)
        operands = [draw.pick(scalars[::-1]), limit]
        return draw.add("compare", Shape("pred"), operands, ", direction=GE")
    return draw.pick(flags[::-1]) if flags else draw.parameter(Shape("pred"), "normal")


def branch(draw: Draw) -> Value:
    """One of two or three computations; one arm may return what another one computes."""
    flag = draw.pick([True, False])
    chosen = _chosen(draw, flag)
    count = 2 if flag else draw.among(2, 3)
    given = _states(draw, 3)
    results = [v.shape for v in given][: draw.among(1, len(given))]
    packed, texts, names, alike = [], list[str](), [], True
    for _ in range(count):
        arm = Inner(draw, given)
        name = draw.fresh("arm")
        steps(arm, draw.among(0, 3))
        texts += arm.texts(name, _next(arm, given[: len(results)]))
        alike &= all(v.exact for v in arm.values)
        names.append(name)
        packed.append(_tuple(draw, given))
    if flag:
        attributes = f", true_computation={names[0]}, false_computation={names[1]}"
    else:
        attributes = f", branch_computations={{{', '.join(names)}}}"
    operands = [chosen, *packed]
    if len(results) == 1:
        return draw.add(
            "conditional",
            results[0],
            operands,
            attributes,
            exact=alike,
            signed=False,
            computations=texts,
        )
    return draw.leaves(
        "conditional", results, operands, attributes, exact=alike, computations=texts
    )[0]


def _tuple(draw: Draw, values: Sequence[Value]) -> Value:
    if len(values) == 1:
        return values[0]
    name = draw.fresh("t")
    shapes = tuple(v.shape for v in values)
    draw.instrs.append(Instr(name, "tuple", shapes, tuple(v.name for v in values)))
    return replace(values[0], name=name, exact=all(v.exact for v in values))


_PLAIN: tuple[Op, ...] = (
    *[exact.mix] * 4,
    exact.alone,
    exact.choose,
    exact.convert,
    exact.reduce,
    exact.reduce,
    exact.shift,
    exact.shift,
    exact.transposed,
    exact.transposed,
    exact.flattened,
    *inplace.OPS,
    movement.pad,
    movement.concatenate,
    movement.concatenate,
    movement.cut,
    movement.reverse,
)
_NESTS: tuple[Op, ...] = (loop, loop, branch)
_CONDITIONS: tuple[Op, ...] = (until, until, until, loop, branch)


class _Conditions(Draw):
    """A program in the making with loops that end by conditions on their states."""


def _nests(draw: Draw) -> tuple[Op, ...]:
    while isinstance(draw, Inner):
        draw = draw.outer
    return _CONDITIONS if isinstance(draw, _Conditions) else _NESTS


def steps(draw: Draw, count: int) -> None:
    """Append some ops, loops and branches."""
    depth = getattr(draw, "depth", 0)
    for _ in range(count):
        nested = depth < DEEPEST and draw.chance(3 if depth == 0 else 6)
        draw.pick(_nests(draw) if nested else _PLAIN)(draw)


def build_nests(choices: Choices, seed: int) -> Program:
    """A program of loops, branches and updates in place; some of its results are one value."""
    return _built(Draw(choices, seed))


def build_conditions(choices: Choices, seed: int) -> Program:
    """The same with loops whose trip counts follow from conditions on their states."""
    draw = _Conditions(choices, seed)
    until(draw)
    return _built(draw)


def _built(draw: Draw) -> Program:
    steps(draw, draw.among(1, 7))
    found = draw.program()
    roots = list(found.roots)
    if roots and draw.chance(4):
        roots.append(draw.pick(roots))
    if roots and draw.chance(6):
        roots.insert(0, draw.pick([i.name for i in found.instrs if len(i.shapes) == 1]))
    return replace(found, roots=roots)
