"""Read and write the attribute of a blocked dot.

`nc.blocks = {tiles, transposed, staged, evicted, begin, shared, ramp, pinned}` follows Blocking,
except that `tiles` are the tiles of rows, of the contraction and of columns in a block, and
`transposed` are the operands (0, 1) whose contraction is along their rows. If an operand has
another order during lowering, because an earlier group stored it so, the search is repeated, for
the same number of tiles if they are `pinned`.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Operation

from neuronir.dialects.hlo.attributes import i64_array, i64_attr, ints
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.machine import Machine, description_of
from neuronir.passes.lowering.products.assigned import BLOCKS, wrong
from neuronir.passes.lowering.products.blocking import Begin, Blocking, Problem, Tiles
from neuronir.passes.lowering.products.matrices import is_matrix_product, problem_of
from neuronir.passes.lowering.products.search import choose, named

_known: dict[tuple[Problem, str, Attribute], Blocking | None] = {}


def assign_blocks(op: DotOp, problem: Problem, b: Blocking, pinned: bool) -> None:
    """Record how a dot is blocked, for operands as in `problem`."""
    found: dict[str, Attribute] = {
        "tiles": i64_array(b.tiles),
        "transposed": i64_array(i for i in (0, 1) if problem.transposed[i]),
        "staged": i64_attr(b.staged),
        "evicted": i64_attr(b.evicted),
    }
    if b.begin is not None:
        found["begin"] = i64_array((b.begin.rows, b.begin.columns, b.begin.more))
    if b.shared:
        found["shared"] = i64_attr(b.shared)
    for name, holds in (("ramp", b.ramp), ("pinned", pinned)):
        if holds:
            found[name] = UnitAttr()
    op.attributes[BLOCKS] = DictionaryAttr(found)


def blockable(op: Operation, machine: Machine) -> bool:
    """Return whether a dot may be blocked; raises NIR_LOW008 if another op has the attribute."""
    if BLOCKS not in op.attributes:
        return False
    if not is_matrix_product(op, machine):
        raise wrong(op, BLOCKS, "only products of two matrices go block by block")
    return True


def pinned_tiles(op: Operation) -> Tiles | None:
    """Return the tiles of a block that the user requested."""
    data = _data(op)
    return _tiles(op, data) if "pinned" in data else None


def plan_of(op: DotOp, transposed: tuple[bool, bool], machine: Machine) -> Blocking:
    """Return how a dot is blocked, for operands with orders `transposed`.

    Raises NIR_LOW008 if the attribute is not applicable.
    """
    data, problem = _data(op), problem_of(op, transposed)
    said = _numbers(op, data, "transposed")
    if said != tuple(i for i in (0, 1) if transposed[i]):
        plan = choose(problem, machine, pinned_tiles(op)) or choose(problem, machine)
        assert plan is not None  # a smaller dot than any that is tried first
        return plan
    key = problem, description_of(machine), op.attributes[BLOCKS]
    if key not in _known:
        _known[key] = named(problem, machine, _blocking(op, data))
    found = _known[key]
    if found is None:
        raise wrong(op, BLOCKS, "there are no such blocks of it, or they do not fit into SBUF")
    return found


def _blocking(op: Operation, data: dict[str, Attribute]) -> Blocking:
    """Parse the attribute; sizes of tiles follow from the dot."""
    row_tiles, depth_tiles, column_tiles = _tiles(op, data)
    begin = None
    if "begin" in data:
        rows, columns, more = _numbers(op, data, "begin", 3)
        begin = Begin(rows, columns, more)
    (staged,), (evicted,) = (_numbers(op, data, name, 1) for name in ("staged", "evicted"))
    shared = _numbers(op, data, "shared", 1)[0] if "shared" in data else 0
    tiles = (row_tiles, column_tiles, depth_tiles)
    return Blocking(0, 0, 0, *tiles, staged, evicted, "ramp" in data, begin, shared)


def _tiles(op: Operation, data: dict[str, Attribute]) -> Tiles:
    rows, depth, columns = _numbers(op, data, "tiles", 3)
    return rows, depth, columns


def _data(op: Operation) -> dict[str, Attribute]:
    attribute = op.attributes[BLOCKS]
    if not isinstance(attribute, DictionaryAttr):
        raise wrong(op, BLOCKS, "a dictionary is wanted")
    return dict(attribute.data)


def _numbers(
    op: Operation, data: dict[str, Attribute], name: str, count: int | None = None
) -> Sequence[int]:
    """Return `count` integers under a name."""
    value = data.get(name)
    found: Sequence[int] | None = None
    if isinstance(value, DenseArrayBase):
        found = ints(value)
    elif isinstance(value, IntegerAttr):
        found = (value.value.data,)
    if found is None or count not in (None, len(found)):
        raise wrong(op, BLOCKS, f"'{name}' is {count or 'a list of'} number{'s'[: count != 1]}")
    return found
