"""Let loops access reversed arrays in the opposite order."""

from xdsl.ir import Operation, SSAValue

from neuronir.passes.hlo.counted_loop import CountedLoop, Part, counted_loop
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, ints, shape
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.hlo.while_carry import GTE


def mirror_reads(op: Operation) -> int:
    """Let a loop read the operand of a reverse, from its end; return the number of arrays.

    The loop must read single positions of the reversed dimension, and nothing else of the array,
    which must not be read after the loop.
    """
    loop, start = counted_loop(op), op.operands[0].owner
    count = 0
    if loop is None or not isinstance(start, Operation) or not op.operands[0].has_one_use():
        return 0
    for i in sorted(loop.kept):
        array = loop.parts.init[i]
        dim, reads = _reversed(array), _readers(loop, i)
        if dim is None or not reads or not all(_moves(loop, r, dim) for r in reads):
            continue
        if any(use.name != GTE for use in _users(op)) or any(
            g.results[0].uses for g in _gets(op, i)
        ):
            continue
        for read in reads:
            read.operands[1 + dim] = _opposite(read, read.operands[1 + dim], shape(array)[dim])
        source = array.owner
        assert isinstance(source, Operation)
        start.operands[i] = source.operands[0]
        erase_dead(source)
        count += 1
    return count


def mirror_writes(op: Operation) -> int:
    """Let a loop write an array that is reversed afterwards from its end; return their number."""
    loop = counted_loop(op)
    count = 0
    if loop is None:
        return 0
    for i, part in loop.written.items():
        value = _result(op, i)
        use = None if value is None else value.get_user_of_unique_use()
        if value is None or use is None or use.name != "hlo.reverse":
            continue
        update = loop.parts.next[i].owner
        assert isinstance(update, Operation)
        dim = part.dim
        if [dim] != list(ints(use, "dimensions")) or dim is None:
            continue
        if shape(update.operands[1])[dim] != 1:
            continue
        at = 2 + dim
        update.operands[at] = _opposite(update, update.operands[at], shape(value)[dim])
        use.results[0].replace_all_uses_with(value)
        use.detach()
        use.erase()
        count += 1
    return count


def _reversed(value: SSAValue) -> int | None:
    """Return the dimension along which an array is reversed, if it is a single one."""
    op = value.owner
    if not isinstance(op, Operation) or op.name != "hlo.reverse":
        return None
    dims = ints(op, "dimensions")
    return dims[0] if len(dims) == 1 else None


def _readers(loop: CountedLoop, index: int) -> list[Operation]:
    """Return the ops of the body that read a carried element, without the tuple that carries it."""
    body = loop.parts.body
    assert body.last_op is not None
    root = body.last_op.operands[0].owner
    found = []
    for use in body.args[0].uses:
        get = use.operation
        if get.name == GTE and integer(get, "index") == index:
            found += [u.operation for u in get.results[0].uses if u.operation is not root]
    return found


def _moves(loop: CountedLoop, op: Operation, dim: int) -> bool:
    """Return whether an op reads one position of a dimension, another one in each iteration."""
    if op.name != "hlo.dynamic_slice" or ints(op, "slice_sizes")[dim] != 1:
        return False
    part: Part | None = loop.part(op)
    return part is not None and part.dim == dim


def _opposite(op: Operation, place: SSAValue, length: int) -> SSAValue:
    """Return the position of an element of the reversed dimension in the operand of the reverse."""
    build = Emitter(op)
    return build.binary("subtract", build.scalar(length - 1, element(place)), place)


def _gets(op: Operation, index: int) -> list[Operation]:
    """Return the ops that take an element of the result of a loop."""
    return [u for u in _users(op) if u.name == GTE and integer(u, "index") == index]


def _users(op: Operation) -> list[Operation]:
    return [use.operation for use in op.results[0].uses]


def _result(op: Operation, index: int) -> SSAValue | None:
    """Return an element of the result of a loop, if it is read once."""
    gets = _gets(op, index)
    return gets[0].results[0] if len(gets) == 1 else None
