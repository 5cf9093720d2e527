"""A function is read as if nobody had read it before, whatever has changed in between."""

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import (
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    f32,
    i64,
)

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.cloning import clone
from neuronir.passes.nc.listing import Node, functions, list_function, variables
from tests.passes_nc.programs import mlp


def _read(module: ModuleOp, *, placed: bool) -> list[object]:
    """Everything that a listing says about instructions."""
    nodes: list[Node] = []
    for func in functions(module):
        nodes += list_function(func, variables(module), placed=placed).nodes
    names = ("node", "buffer", "write", "partial", "low", "high", "start", "stop", "solid")
    more = ("pattern", "fixed", "shape")
    return [
        (n.record, [[getattr(a, name) for name in (*names, *more)] for a in n.accesses])
        for n in nodes
    ]


def _ops(module: ModuleOp, name: str) -> list[InstructionOp]:
    return [op for op in module.walk() if isinstance(op, InstructionOp) and op.name == name]


def _engine(module: ModuleOp) -> None:
    for op in _ops(module, "nc.matmul"):
        op.properties["engine"] = StringAttr("pool")


def _parameters(module: ModuleOp) -> None:
    op = _ops(module, "nc.matmul")[0]
    op.properties["params"] = DictionaryAttr({"accumulate": IntegerAttr(1, i64)})


def _patterns(module: ModuleOp) -> None:
    one, other = _ops(module, "nc.dma")[:2]
    one.properties["patterns"] = other.properties["patterns"]


def _operands(module: ModuleOp) -> None:
    one, other = _ops(module, "nc.activation")[:2]
    other.operands[0] = one.operands[0]


def _address(module: ModuleOp) -> None:
    for op in module.walk():
        if isinstance(op, AllocOp) and op.address is not None:
            op.properties["address"] = IntegerAttr(op.address.value.data + 64, i64)


def _removed(module: ModuleOp) -> None:
    _engine(module)
    _read(module, placed=False)
    for op in _ops(module, "nc.matmul"):
        del op.properties["engine"]


def _renamed(module: ModuleOp) -> None:
    """A property gets another name and keeps its value."""
    engine = StringAttr("act")
    for op in _ops(module, "nc.dma"):
        op.properties["engine"] = engine
    _read(module, placed=True)
    _read(module, placed=False)
    for op in _ops(module, "nc.dma"):
        op.properties["trigger"] = op.properties.pop("engine")


def _type(module: ModuleOp) -> None:
    alloc = next(op for op in module.walk() if isinstance(op, AllocOp))
    old = alloc.buffer.type
    assert old.element_type != f32
    alloc.buffer._type = MemRefType(f32, old.get_shape(), old.layout, old.memory_space)


CHANGES = (_engine, _parameters, _patterns, _operands, _address, _removed, _renamed, _type)


@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize(
    "change", [_engine, _parameters, _patterns, _operands, _address, _removed, _renamed, _type]
)
def test_changes_are_read(change: Callable[[ModuleOp], None], placed: bool) -> None:
    module = mlp(2, 2, 64)
    address = 0
    for op in module.walk():
        if op.name in ("nc.alloc", "nc.variable"):
            op.properties["address"] = IntegerAttr(address, i64)
            address += 1024
    before = _read(module, placed=placed)
    assert _read(module, placed=placed) == before
    change(module)
    found = _read(module, placed=placed)
    assert found == _read(clone(module), placed=placed)
    assert (found == before) == (change is _removed or (change is _address and not placed))


def test_a_changed_record_changes_no_other_reading() -> None:
    module = mlp(1, 1, 64)
    for func in functions(module):
        before = _read(module, placed=False)
        for node in list_function(func, variables(module), placed=False).nodes:
            assert node.record is not None
            node.record.params["accumulate"] = 7
            node.accesses.clear()
        assert _read(module, placed=False) == before
