"""Results that concatenate what transfers, loops and ops make, and what reads the parts."""

from dataclasses import replace

from tests.differential.second import exact, inplace
from tests.differential.second.draw import EDGES, Draw, Value, braces, product
from tests.differential.second.nests import loop_over
from tests.differential.second.program import Program, Shape
from tests.differential.shrink import Choices

_SIZE = 9000


def _argument(draw: Draw, shape: Shape) -> Value:
    return draw.parameter(shape, draw.pick(("normal", "small", "wide")))


def _updated(draw: Draw, shape: Shape) -> Value:
    """One or two updates of a part, at computed places."""
    x = _argument(draw, shape)
    for _ in range(draw.among(1, 2)):
        k = draw.among(1, shape.dims[0])
        part = Shape(shape.dtype, (k, *shape.dims[1:]))
        x = inplace.update(draw, x, draw.like(part, tame=True, exact=True))
    return x


def _gathered(draw: Draw, shape: Shape) -> Value:
    """Rows of a table."""
    n, *rest = shape.dims
    table = _argument(draw, Shape(shape.dtype, (draw.pick((3, 8, 130)), *rest)))
    indices = draw.parameter(Shape("s32", (n,)), f"index:0:{table.dims[0] - 1}")
    attributes = (
        f", offset_dims={braces(range(1, len(shape.dims)))}, collapsed_slice_dims={{0}}"
        f", start_index_map={{0}}, index_vector_dim=1, slice_sizes={braces((1, *rest))}"
    )
    return draw.add("gather", shape, [table, indices], attributes, rule="move")


def _sliced(draw: Draw, shape: Shape) -> Value:
    """A slice at a fixed or a computed place."""
    n, *rest = shape.dims
    whole = _argument(draw, Shape(shape.dtype, (n + draw.pick((1, 0, 5)), *rest)))
    if draw.pick([True, False]):
        return exact.part(draw, whole, 0, whole.dims[0] - n, whole.dims[0])
    zero = draw.filled(0, Shape("s32"))
    starts = [inplace.start(draw, whole.dims[0] - n), *[zero for _ in rest]]
    attributes = f", dynamic_slice_sizes={braces(shape.dims)}"
    return draw.add("dynamic-slice", shape, [whole, *starts], attributes, rule="move")


def _reshaped(draw: Draw, shape: Shape) -> Value:
    """The same elements of one of the others, in one dimension."""
    make = draw.pick((_updated, _argument, _sliced))
    flat = make(draw, Shape(shape.dtype, (product(shape.dims),)))
    return draw.add("reshape", shape, [flat], rule="move")


def _computed(draw: Draw, shape: Shape) -> Value:
    """An elementwise result."""
    draw.values.append(_argument(draw, shape))
    found = exact.mix(draw)
    return found if found.shape == shape else _argument(draw, shape)


def _looped(draw: Draw, shape: Shape) -> Value:
    """The state of a loop."""
    return loop_over(draw, [_argument(draw, shape)])


_MAKERS = (_argument, _updated, _updated, _gathered, _sliced, _reshaped, _computed, _looped)


def _joined(draw: Draw, parts: list[Value], axis: int) -> Value:
    dims = list(parts[0].dims)
    dims[axis] = sum(part.dims[axis] for part in parts)
    shape = Shape(parts[0].dtype, tuple(dims))
    return draw.add("concatenate", shape, parts, f", dimensions={{{axis}}}", rule="move")


def build_joins(choices: Choices, seed: int) -> Program:
    """A program with one or two concatenations, whose parts other instructions may read."""
    draw = Draw(choices, seed)
    dtype = draw.pick(exact.TYPES)
    dims = draw.dims(draw.among(1, 3), _SIZE, EDGES)
    dims = tuple(max(n, 1) for n in dims)
    axis = 0 if draw.pick([True, True, False]) else draw.among(0, len(dims) - 1)
    made: list[Value] = []
    for _ in range(draw.among(2, 4)):
        if made and draw.chance(6):
            made.append(draw.pick(made))
            continue
        size = dims[axis] if draw.pick([True, False]) else draw.pick((1, 2, 33))
        part = tuple(size if i == axis else n for i, n in enumerate(dims))
        made.append(draw.pick(_MAKERS)(draw, Shape(dtype, part)))
    joined = _joined(draw, made, axis)
    results = [joined]
    kind = draw.pick(("plain", "reshaped", "again", "updated", "read"))
    if kind == "reshaped":
        flat = Shape(dtype, (product(joined.dims),))
        results = [draw.add("reshape", flat, [joined], rule="move")]
    elif kind == "again":
        results.append(_joined(draw, [draw.pick(made), joined, draw.pick(made)], axis))
    elif kind == "updated":
        results.append(inplace.update(draw, joined, draw.pick(made)))
    elif kind == "read":
        draw.values.append(draw.pick(made))
        results.append(exact.mix(draw))
        results.append(exact.reduce(draw))
    results += [part for part in made if draw.chance(4)]
    order = draw.permutation(len(results))
    found = draw.program()
    names = [results[i].name for i in order]
    return replace(
        found, instrs=draw.instrs, inputs=draw.inputs, bound=draw.bound, roots=names
    ).live()
