"""Find the values of an hlo module that can be watched, and build modules that return them."""

from collections.abc import Collection, Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, TensorType, TupleType
from xdsl.ir import Block, Operation, SSAValue, TypeAttribute

from neuronir.dialects.hlo.control_flow import TupleOp
from neuronir.dialects.nc.instruction import Source
from neuronir.dialects.support.location import source_name
from neuronir.driver.weights import entry_function

_NO_VALUES = frozenset(("hlo.constant", "hlo.tuple", "hlo.get_tuple_element", "hlo.iota"))


def block_of(module: ModuleOp) -> Block:
    """Return the body of the entry function."""
    return entry_function(module).body.block


def values_of(module: ModuleOp) -> list[int]:
    """Return the numbers of ops of the entry function that depend on arguments, in program order.

    Conversions that belong to another op (such as casts of a dot's operands, by their names) are
    excluded.
    """
    ops = list(block_of(module).ops)
    names: dict[str, int] = {}
    for op in ops:
        if op.name != "hlo.convert":
            names[source_name(op)] = names.get(source_name(op), 0) + 1
    found: list[int] = []
    known: set[SSAValue] = set(block_of(module).args)
    for number, op in enumerate(ops):
        if not any(operand in known for operand in op.operands):
            continue
        known.update(op.results)
        if not op.results or op.name in _NO_VALUES:
            continue
        if op.name == "hlo.convert" and source_name(op) in names:
            continue
        if all(isinstance(result.type, TensorType) for result in op.results):
            found.append(number)
    return found


def watched(module: ModuleOp, numbers: Iterable[int]) -> ModuleOp:
    """Copy a module and append the results of some ops to those of its entry function."""
    copy = module.clone()
    function = entry_function(copy)
    block = function.body.block
    ops = list(block.ops)
    root = ops[-1]
    values = [*outputs_of(copy), *(result for number in numbers for result in ops[number].results)]
    types = ArrayAttr([v.type for v in values if isinstance(v.type, TypeAttribute)])
    whole = TupleOp.create(operands=values, result_types=[TupleType(types)])
    whole.location = root.location
    block.insert_op_before(whole, root)
    old = {operand.owner for operand in root.operands}
    root.operands = [whole.results[0]]
    for op in old:
        if isinstance(op, TupleOp) and not any(op.results[0].uses):
            op.detach()
            op.erase()
    inputs = function.function_type.inputs.data
    function.function_type = FunctionType.from_lists(inputs, [whole.results[0].type])
    return copy


def outputs_of(module: ModuleOp) -> list[SSAValue]:
    """Return the results of the entry function: the elements of its tuple, in order."""
    root = block_of(module).last_op
    assert root is not None
    found: list[SSAValue] = []
    left = list(reversed(root.operands))
    while left:
        value = left.pop()
        if isinstance(value.owner, TupleOp):
            left += reversed(value.owner.operands)
        else:
            found.append(value)
    return found


def ancestors(module: ModuleOp, numbers: Iterable[int]) -> set[int]:
    """Return ops and all ops from which they are computed."""
    ops = list(block_of(module).ops)
    at = {op: number for number, op in enumerate(ops)}
    found: set[int] = set()
    left = list(numbers)
    while left:
        number = left.pop()
        if number not in found:
            found.add(number)
            left += [at[one] for one in _makers(ops[number]) if one in at]
    return found


def nearest(module: ModuleOp, number: int, among: Collection[int]) -> list[int]:
    """Return the ops of `among` from which an op is computed directly, without others in
    between.
    """
    ops = list(block_of(module).ops)
    at = {op: i for i, op in enumerate(ops)}
    found: set[int] = set()
    seen: set[int] = set()
    left = [at[one] for one in _makers(ops[number]) if one in at]
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        if one in among:
            found.add(one)
        else:
            left += [at[maker] for maker in _makers(ops[one]) if maker in at]
    return sorted(found)


def _makers(op: Operation) -> list[Operation]:
    """Return the ops whose results an op reads, including in its regions."""
    operands = [operand for inner in op.walk() for operand in inner.operands]
    return [v.owner for v in operands if isinstance(v.owner, Operation)]


def fused_away(module: ModuleOp, numbers: Sequence[int], sources: Sequence[Source]) -> set[int]:
    """Return the ops that a binary fuses into a group, so that it never stores their values.

    These are all ops of a group but the last.
    """
    ops = list(block_of(module).ops)
    named: dict[str, int] = {}
    for number in numbers:
        named[source_name(ops[number])] = number
    found: set[int] = set()
    kept: set[int] = set()
    for source in sources:
        members = sorted(named[name] for name in source.group.split(" + ") if name in named)
        if members:
            found.update(members[:-1])
            kept.add(members[-1])
    return found - kept
