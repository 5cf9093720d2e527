"""Ops that were found valid are verified again where a type or property has changed."""

import pytest
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    f32,
)
from xdsl.ir import Attribute

from neuronir._xdsl import OpVerifyError, verify_located
from neuronir._xdsl_verify import Verified
from neuronir.dialects.nc.attributes import SBUF
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import AllocOp
from tests.passes_nc.programs import mlp


def _first(module: ModuleOp) -> InstructionOp:
    return next(o for o in module.walk() if isinstance(o, InstructionOp) and o.name == "nc.matmul")


def _verified() -> tuple[ModuleOp, Verified]:
    module, verified = mlp(1, 1, 64), Verified()
    verify_located(module, verified)
    verify_located(module, verified)
    return module, verified


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("patterns", ArrayAttr([])),
        ("params", DictionaryAttr({"accumulate": StringAttr("yes")})),
        ("engine", StringAttr("act")),
        ("engine", ArrayAttr([])),
        ("trigger", StringAttr("act")),
        ("waits", StringAttr("none")),
        ("updates", StringAttr("none")),
    ],
)
def test_a_changed_property_is_verified(name: str, value: Attribute) -> None:
    module, verified = _verified()
    op = _first(module)
    op.properties[name] = value
    with pytest.raises(OpVerifyError):
        verify_located(module, verified)
    del op.properties[name]
    if name in ("patterns", "params"):
        with pytest.raises(OpVerifyError):
            verify_located(module, verified)
    else:
        verify_located(module, verified)


def test_a_changed_type_is_verified() -> None:
    module, verified = _verified()
    alloc = next(o for o in module.walk() if isinstance(o, AllocOp))
    old = alloc.buffer.type
    alloc.buffer._type = MemRefType(f32, [1, 1], NoneAttr(), SBUF)
    with pytest.raises(OpVerifyError):
        verify_located(module, verified)
    alloc.buffer._type = old
    verify_located(module, verified)


def test_engines_and_waits_are_verified_once_for_each_opcode() -> None:
    module, verified = _verified()
    for name, value in (("engine", StringAttr("pe")), ("waits", ArrayAttr([]))):
        count = len(verified.right)
        for op in module.walk():
            if op.name == "nc.matmul":
                op.properties[name] = value
        verify_located(module, verified)
        assert len(verified.right) == count + 1
