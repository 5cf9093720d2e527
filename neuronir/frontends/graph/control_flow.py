"""Build loops and branches, with the outer values that they read."""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.passes.hlo.support.build import OP_CLASSES
from neuronir.passes.hlo.support.values import shape

Step = Callable[[BlockBuilder, list[SSAValue], list[SSAValue]], list[SSAValue]]
"""Build one region: map (builder, carried values, captured values) to the returned values."""


def _split(b: BlockBuilder, captured: Sequence[SSAValue]) -> list[int]:
    """Captured values that must be carried; constants are rebuilt inside the region."""
    return [i for i, value in enumerate(captured) if not _is_constant(b, value)]


def _is_constant(b: BlockBuilder, value: SSAValue) -> bool:
    return getattr(value.owner, "name", "") == "hlo.constant" or b.known(value) is not None


def _inside(
    outer: BlockBuilder,
    inner: BlockBuilder,
    captured: Sequence[SSAValue],
    carried: Sequence[int],
    values: Sequence[SSAValue],
) -> list[SSAValue]:
    """Return the captured values as seen in a region."""
    found = dict(zip(carried, values, strict=True))
    result: list[SSAValue] = []
    for i, value in enumerate(captured):
        if i in found:
            result.append(found[i])
            continue
        known = outer.known(value)
        if known is not None:
            result.append(inner.constant(known))
            continue
        op = OP_CLASSES["hlo.constant"].create(
            result_types=[value.type],
            properties={"value": value.owner.properties["value"]},  # type: ignore[union-attr]
        )
        result.append(inner.insert(op).results[0])
    return result


def rehearse(
    b: BlockBuilder, types: Sequence[Attribute], captured: Sequence[SSAValue]
) -> tuple[BlockBuilder, list[SSAValue], list[SSAValue]]:
    """Return (builder, values of these types, captured values) for a trial build of a body.

    The ops of the trial build are discarded.
    """
    scratch = b.region([*types, *(value.type for value in captured)])
    arguments: list[SSAValue] = list(scratch.block.args)
    carried = _split(b, captured)
    outside = arguments[len(types) :]
    inner = _inside(b, scratch, captured, carried, [outside[i] for i in carried])
    return scratch, arguments[: len(types)], inner


def while_loop(
    b: BlockBuilder,
    state: Sequence[SSAValue],
    captured: Sequence[SSAValue],
    condition: Step,
    body: Step,
) -> list[SSAValue]:
    """Build hlo.while over a tuple of the state.

    `condition` returns a scalar predicate, `body` the next state with the same types. Both also see
    the captured values, which do not change.
    """
    carried = _split(b, captured)
    init = b.tuple([*state, *(captured[i] for i in carried)])
    regions = []
    for step in (condition, body):
        inner = b.region([init.type])
        values = [
            inner.tuple_element(inner.block.args[0], i) for i in range(len(state) + len(carried))
        ]
        own, rest = values[: len(state)], values[len(state) :]
        given = step(inner, own, _inside(b, inner, captured, carried, rest))
        if step is condition:
            regions.append(inner.finish(inner.reshape(given[0], ())))
            continue
        for before, after in zip(state, given, strict=True):
            if before.type != after.type:
                refuse(f"a loop carries {before.type} in and {after.type} out: shapes must stay")
        regions.append(inner.finish(inner.tuple([*given, *rest])))
    result = b.emit("while", [init], init.type, {}, regions)
    return [b.tuple_element(result, i) for i in range(len(state))]


def conditional(
    b: BlockBuilder,
    selector: SSAValue,
    captured: Sequence[SSAValue],
    branches: Sequence[Step],
) -> list[SSAValue]:
    """Build hlo.conditional.

    A scalar predicate selects branch 0 if it holds and 1 otherwise. An i32 index selects the branch
    with that index, or the last branch if out of range. All branches return the same types. If the
    selector is known, only the selected branch is built.
    """
    known = b.known(selector)
    if known is not None:
        number = int(known.reshape(())) if known.dtype != bool else int(not known.reshape(()))
        chosen = branches[number if 0 <= number < len(branches) else -1]
        return chosen(b, [], list(captured))
    carried = _split(b, captured)
    argument = b.tuple([captured[i] for i in carried])
    regions, types = [], []
    for branch in branches:
        inner = b.region([argument.type])
        values = [inner.tuple_element(inner.block.args[0], i) for i in range(len(carried))]
        given = branch(inner, [], _inside(b, inner, captured, carried, values))
        result = inner.tuple(given)
        types.append(result.type)
        regions.append(inner.finish(result))
    if any(type_ != types[0] for type_ in types):
        refuse(f"the branches return {types[0]} and {types[-1]}: the types must be equal")
    taken = b.emit(
        "conditional",
        [b.reshape(selector, ()), *[argument] * len(branches)],
        types[0],
        {},
        regions,
    )
    return [b.tuple_element(taken, i) for i in range(len(taken.type.types))]  # type: ignore[attr-defined]


def counted_loop(
    b: BlockBuilder,
    count: int,
    state: Sequence[SSAValue],
    captured: Sequence[SSAValue],
    body: Callable[[BlockBuilder, SSAValue, list[SSAValue], list[SSAValue]], list[SSAValue]],
) -> list[SSAValue]:
    """Build a loop with a static trip count; `body` gets the iteration number as an i32 scalar."""
    first = b.scalar(0, i32)

    def condition(
        inner: BlockBuilder, values: list[SSAValue], captured: list[SSAValue]
    ) -> list[SSAValue]:
        return [inner.compare(values[0], inner.scalar(count, i32), "LT")]

    def step(
        inner: BlockBuilder, values: list[SSAValue], captured: list[SSAValue]
    ) -> list[SSAValue]:
        following = body(inner, values[0], values[1:], captured)
        return [inner.binary("add", values[0], inner.scalar(1, i32)), *following]

    return while_loop(b, [first, *state], captured, condition, step)[1:]


def stacked(b: BlockBuilder, whole: SSAValue, index: SSAValue, part: SSAValue) -> SSAValue:
    """Replace the element `index` (an i32 scalar) of a stack: the output of a loop iteration."""
    zero = b.scalar(0, i32)
    update = b.reshape(part, (1, *shape(part)))
    starts = [index, *[zero] * len(shape(part))]
    return b.op("dynamic_update_slice", [whole, update, *starts])


def unstacked(b: BlockBuilder, whole: SSAValue, index: SSAValue) -> SSAValue:
    """Return the element `index` (an i32 scalar) of a stack: the input of a loop iteration."""
    zero = b.scalar(0, i32)
    rest = shape(whole)[1:]
    starts = [index, *[zero] * len(rest)]
    part = b.op("dynamic_slice", [whole, *starts], slice_sizes=(1, *rest))
    return b.reshape(part, rest)
