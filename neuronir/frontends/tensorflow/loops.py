"""Build loops over the values of a TensorFlow graph: tensors and lists of tensors."""

from collections.abc import Callable, Collection, Sequence

from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import as_pred
from neuronir.frontends.graph.control_flow import while_loop
from neuronir.frontends.tensorflow.values import PartialDims, TensorList, Value

Condition = Callable[[BlockBuilder, Sequence[Value], Sequence[Value]], SSAValue]
"""Maps (builder, carried values, fixed values) to a scalar: whether to continue."""
Body = Callable[[BlockBuilder, Sequence[Value], Sequence[Value]], Sequence[Value]]
"""Maps (builder, carried values, fixed values) to the next carried values."""


class _Shapes(Exception):
    """The properties of the elements of carried lists, found by a trial build of a body."""

    def __init__(self, found: Sequence[Value]) -> None:
        self.found = found
        super().__init__()


def static_loop(
    b: BlockBuilder,
    state: Sequence[Value],
    fixed: Sequence[Value],
    condition: Condition,
    body: Body,
    same: Collection[int] = (),
) -> list[Value]:
    """Build hlo.while over the state.

    `same` are the indices of values that the body returns unchanged. They are not carried, so known
    values
    stay known in the body. If the element shape of a list is unknown, a trial build of the body
    finds it.
    """
    state = list(state)
    kept = [i for i in range(len(state)) if i not in same]
    outside = [*fixed, *(state[i] for i in same)]

    def whole(values: Sequence[Value], others: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        every: dict[int, Value] = dict(zip(kept, values, strict=True))
        every |= dict(zip(same, others[len(fixed) :], strict=True))
        return [every[i] for i in range(len(state))], list(others[: len(fixed)])

    while any(_is_open(state[i]) for i in kept):
        found = _tried(b, [state[i] for i in kept], outside, body, whole)
        narrowed = [
            v.narrowed(_dims(found[i])) if isinstance(v, TensorList) else v
            for i, v in enumerate(state)
        ]
        if narrowed == state:
            refuse("a list that a loop carries has elements of unknown shape")
        state = narrowed

    tensors, kinds = flatten(b, [state[i] for i in kept])
    captured, outer_kinds = flatten(b, outside)

    def step_condition(
        inner: BlockBuilder, own: list[SSAValue], outer: list[SSAValue]
    ) -> list[SSAValue]:
        values, others = whole(unflatten(own, kinds), unflatten(outer, outer_kinds))
        return [as_pred(inner, condition(inner, values, others))]

    def step_body(
        inner: BlockBuilder, own: list[SSAValue], outer: list[SSAValue]
    ) -> list[SSAValue]:
        values, others = whole(unflatten(own, kinds), unflatten(outer, outer_kinds))
        following = body(inner, values, others)
        return flatten(inner, [following[i] for i in kept])[0]

    results = while_loop(b, tensors, captured, step_condition, step_body)
    every: dict[int, Value] = {i: state[i] for i in same}
    every |= dict(zip(kept, unflatten(results, kinds), strict=True))
    return [every[i] for i in range(len(state))]


def _is_open(value: Value) -> bool:
    return isinstance(value, TensorList) and value.stack is None and value.known_dims() is None


def _dims(value: Value) -> PartialDims:
    return value.dims if isinstance(value, TensorList) else None


def _tried(
    b: BlockBuilder,
    carried: Sequence[Value],
    outside: Sequence[Value],
    body: Body,
    whole: Callable[[Sequence[Value], Sequence[Value]], tuple[list[Value], list[Value]]],
) -> Sequence[Value]:
    """Build the body on trial to find the shapes of its lists; the ops are discarded."""
    places = [i for i, value in enumerate(carried) if not _is_open(value)]
    tensors, kinds = flatten(b, [carried[i] for i in places])
    captured, outer_kinds = flatten(b, outside)

    def attempt(inner: BlockBuilder, own: list[SSAValue], outer: list[SSAValue]) -> list[SSAValue]:
        given = dict(zip(places, unflatten(own, kinds), strict=True))
        values = [given.get(i, value) for i, value in enumerate(carried)]
        raise _Shapes(body(inner, *whole(values, unflatten(outer, outer_kinds))))

    try:
        while_loop(b, tensors, captured, attempt, attempt)
    except _Shapes as shapes:
        return shapes.found
    raise AssertionError("the attempt always ends")


def flatten(b: BlockBuilder, values: Sequence[Value]) -> tuple[list[SSAValue], list[Value]]:
    """Return the tensors of the values (a list is its stack), and the values as templates."""
    tensors: list[SSAValue] = []
    for value in values:
        if isinstance(value, TensorList):
            tensors.append(value.filled(b))
        elif isinstance(value, SSAValue):
            tensors.append(value)
    return tensors, list(values)


def unflatten(tensors: Sequence[SSAValue], kinds: Sequence[Value]) -> list[Value]:
    """Return values of these kinds with other tensors."""
    given = iter(tensors)
    result: list[Value] = []
    for kind in kinds:
        if isinstance(kind, TensorList):
            result.append(TensorList(kind.element_type, kind.dims, kind.count, next(given)))
        elif isinstance(kind, SSAValue):
            result.append(next(given))
        else:
            result.append(kind)
    return result
