"""Split loops into strips, and compute, load and store values that do not depend on earlier
iterations for a whole strip at once.
"""

from collections.abc import Iterator
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, OpResult, SSAValue

from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.dtypes import byte_size
from neuronir.dialects.tile.rules import ELEMENTWISE
from neuronir.passes.hlo.counted_loop import CountedLoop, counted_loop
from neuronir.passes.hlo.recurrences.rounds import Rounds
from neuronir.passes.hlo.recurrences.strips import Strips
from neuronir.passes.hlo.recurrences.whiles import begin_while, end_while, replace_while
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, shape
from neuronir.passes.hlo.while_carry import GTE

COLUMNS = 512
"""Limit of rows of a product of many iterations: the moving columns of one PE pass."""
BYTES = 3 << 19
"""Limit of bytes of such products: they stay on the chip."""
LEAST = 16
"""Minimum trip count of a loop."""


def hoist_products(op: Operation) -> bool:
    """Split a loop into strips of iterations that stay on the chip, with the products that do not
    depend on the state in front of each strip."""
    loop = counted_loop(op)
    if loop is None or loop.count < LEAST or not loop.states:
        return False
    add_first(loop)
    products = list(hoistable(loop))
    found = products or list(slices(loop))
    if not found:
        return False
    width = strip_width(loop, found)
    if width == loop.count:
        inner = loop
    else:
        strips = Strips(loop, width)
        if width < 2 or not strips.possible():
            return False
        found_loop = counted_loop(strips.write())
        assert found_loop is not None
        inner = found_loop
    if products:
        _hoist(inner)
    return True


def slices(loop: CountedLoop) -> Iterator[SSAValue]:
    """Yield the slices that each iteration reads from arrays, and those that it writes to
    arrays.
    """
    independent = Independent(loop)
    for op in loop.parts.body.ops:
        if op.name == "hlo.dynamic_slice" and independent.of(op.results[0]) == "each":
            yield op.results[0]
    for i in loop.written:
        update = loop.parts.next[i].owner
        assert isinstance(update, Operation)
        yield update.operands[1]


def strip_width(loop: CountedLoop, values: list[SSAValue]) -> int:
    """Return how many iterations one product covers: a divisor of the trip count, or 1 for none."""
    rows = min(prod(shape(v)) // max(shape(v)[-1], 1) for v in values)
    size = sum(prod(shape(v)) * byte_size(element(v)) for v in values)
    most = min(COLUMNS // max(rows, 1), BYTES // max(size, 1), loop.count)
    return max((d for d in range(1, most + 1) if loop.count % d == 0), default=1)


class Independent:
    """Classifies the values of a loop body by their dependence on the iteration."""

    def __init__(self, loop: CountedLoop) -> None:
        self.loop = loop
        self._known: dict[SSAValue, str] = {}

    def of(self, value: SSAValue) -> str:
        """Return "same" for an invariant, "each" for a value of the iteration alone, else ""."""
        if value not in self._known:
            self._known[value] = self._find(value)
        return self._known[value]

    def _find(self, value: SSAValue) -> str:
        op, loop = value.owner, self.loop
        if not isinstance(op, Operation) or op.parent is not loop.parts.body:
            return ""
        if op.name == GTE:
            index = integer(op, "index")
            return "same" if index in loop.kept else "each" if index == loop.counter else ""
        if not Rounds.takes(op):
            return ""
        if op.name == "hlo.dynamic_slice":
            part = loop.part(op)
            moves = part is not None and part.at is not None
            return "each" if moves and self.of(op.operands[0]) == "same" else ""
        found = {self.of(v) for v in op.operands}
        return "" if "" in found else "each" if "each" in found else "same"


def hoistable(loop: CountedLoop) -> Iterator[SSAValue]:
    """Return the hoistable ops: products that do not depend on earlier iterations.

    Elementwise users that do not depend on them either are included, up to the first user that
    does.
    """
    independent = Independent(loop)
    for op in loop.parts.body.ops:
        if op.name != "hlo.dot" or independent.of(op.results[0]) != "each":
            continue
        if "same" not in {independent.of(v) for v in op.operands}:
            continue
        value: SSAValue = op.results[0]
        while True:
            use = value.get_user_of_unique_use()
            if use is None or use.name not in ELEMENTWISE or not independent.of(use.results[0]):
                break
            if shape(use.results[0]) != shape(value):
                break
            value = use.results[0]
        yield value


def add_first(loop: CountedLoop) -> None:
    """Reorder sums so that terms that do not depend on earlier iterations are added first."""
    independent = Independent(loop)
    for op in reversed(list(loop.parts.body.ops)):
        if op.name != "hlo.add" or not op.results[0].uses or _inner_sum(op):
            continue
        terms, inside = _terms(op)
        free = [v for v in terms if independent.of(v)]
        others = [v for v in terms if not independent.of(v)]
        if len(terms) < 3 or len(free) < 2 or not others:
            continue
        build = Emitter(op)
        total = free[0]
        for v in free[1:]:
            total = build.binary("add", total, v)
        for v in others:
            total = build.binary("add", v, total)
        op.results[0].replace_all_uses_with(total)
        for old in inside:
            old.detach()
            old.erase()


def _inner_sum(op: Operation) -> bool:
    """Return whether a sum is only used as a term of another sum."""
    use = op.results[0].get_user_of_unique_use()
    return use is not None and use.name == "hlo.add" and use.parent is op.parent


def _terms(op: Operation) -> tuple[list[SSAValue], list[Operation]]:
    """Return the terms of a nested sum, and its additions, the last one first."""
    terms: list[SSAValue] = []
    inside = [op]
    work = list(reversed(op.operands))
    while work:
        v = work.pop()
        maker = v.owner
        if isinstance(v, OpResult) and v.op.name == "hlo.add" and _inner_sum(v.op):
            assert isinstance(maker, Operation)
            inside.append(maker)
            work += reversed(maker.operands)
        else:
            terms.append(v)
    return terms, sorted(inside, key=lambda o: -_place(o))


def _place(op: Operation) -> int:
    count = 0
    while op.prev_op is not None:
        op = op.prev_op
        count += 1
    return count


def from_the_end(loop: CountedLoop, value: SSAValue) -> bool:
    """Return whether the iterations read all arrays that a value depends on from their end."""
    body, found, work = loop.parts.body, set[bool](), [value]
    known: set[SSAValue] = set()
    while work:
        v = work.pop()
        op = v.owner
        if v in known or not isinstance(op, Operation) or op.parent is not body:
            continue
        known.add(v)
        part = loop.part(op) if op.name == "hlo.dynamic_slice" else None
        if part is not None and part.at is not None:
            found.add(part.at.factor < 0)
        else:
            work += op.operands
    return found == {True}


def _hoist(loop: CountedLoop) -> None:
    """Compute the ops in `hoistable` before a loop, and let each iteration read its part."""
    parts, build = loop.parts, Emitter(loop.parts.op)
    orders = [Rounds(loop, build, backwards) for backwards in (False, True)]
    values: dict[SSAValue, Rounds] = {}
    for v in hoistable(loop):
        rounds = orders[from_the_end(loop, v)]
        if rounds.known(v):
            values[v] = rounds
    stacks = [rounds.stack(v) for v, rounds in values.items()]
    names = [i for i in range(len(parts.init)) if i != loop.counter]
    new, inside, found = begin_while(
        build, [build.scalar(0, i32), *(parts.init[i] for i in names), *stacks], loop.count
    )
    at = dict(zip(names, found[1:], strict=False))
    at[loop.counter] = found[0]
    copies: dict[SSAValue, SSAValue] = {}
    for (v, rounds), stack in zip(values.items(), found[1 + len(names) :], strict=True):
        place = found[0]
        if rounds.backwards:
            place = inside.binary("subtract", inside.scalar(loop.count - 1, i32), place)
        starts = [place, *[inside.scalar(0, i32)] * len(shape(v))]
        row = inside.op("dynamic_slice", [stack, *starts], slice_sizes=(1, *shape(v)))
        copies[v] = inside.reshape(row, shape(v))
    for op in parts.body.ops:
        if op.name == "hlo.return" or op.results[0] in copies:
            continue
        if op.name == GTE and op.operands[0] is parts.body.args[0]:
            copies[op.results[0]] = at[integer(op, "index")]
        else:
            copies[op.results[0]] = inside.insert(clone(op, copies)).results[0]
    after = [copies[parts.next[i]] for i in names]
    end_while(new, inside, found[0], [*after, *found[1 + len(names) :]])
    replace_while(loop, build, new, {i: 1 + n for n, i in enumerate(names)})
