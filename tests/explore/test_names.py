"""Values keep their names from one pass to the next."""

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Region

from neuronir.explore.names import Names
from neuronir.explore.snapshot import take_snapshot


def value(hint: str | None = None) -> AnyOp:
    op = AnyOp(result_types=[i32])
    op.results[0].name_hint = hint
    return op


def texts(module: ModuleOp, names: Names) -> list[str]:
    return [line.text.strip() for line in take_snapshot(module, names).lines]


def test_a_new_op_renames_nothing() -> None:
    first, second = value(), value()
    module = ModuleOp([first, second])
    names = Names()
    before = texts(module, names)
    between = value()
    module.body.block.insert_op_before(between, second)
    after = texts(module, names)
    assert [line for line in after if line in before] == before
    assert '%2 = "test.op"() : () -> i32' in after


def test_numbers_are_not_used_again() -> None:
    first = value()
    module = ModuleOp([first])
    names = Names()
    texts(module, names)
    block = first.parent_block()
    assert block is not None
    first.detach()
    block.add_op(value())
    assert '%1 = "test.op"() : () -> i32' in texts(module, names)


def test_a_replacement_takes_the_name_of_what_is_gone() -> None:
    old, other = value("x"), value("x")
    module = ModuleOp([old, other])
    names = Names()
    texts(module, names)
    assert [names[op.results[0]] for op in (old, other)] == ["x", "x_1"]
    block = old.parent_block()
    assert block is not None
    old.detach()
    new = value("x")
    block.add_op(new)
    texts(module, names)
    assert [names[op.results[0]] for op in (other, new)] == ["x_1", "x"]


def test_functions_have_names_of_their_own() -> None:
    functions = []
    for name in "ab":
        block = Block(arg_types=[i32])
        block.args[0].name_hint = "x"
        block.add_op(AnyOp(operands=[block.args[0]]))
        functions.append(FuncOp(name, ([i32], []), Region(block)))
    names = Names()
    found = texts(ModuleOp(functions), names)
    assert sum(line == '"test.op"(%x) : (i32) -> ()' for line in found) == 2
