"""nc-verify-order: accesses with the same register are compared exactly, all others carefully."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from neuronir.dialects.nc.dma import DmaOp
from neuronir.passes.nc.verify_order import take_snapshot
from neuronir.registry import Registry
from tests.passes_nc.ordering import is_refused

ROW = 64
CONTEXT = Registry.discover().context()


def _program(first: str, second: str) -> ModuleOp:
    """Two transfers beside two registers, `%r` and `%s`, each a row of `%y` from 0 to 6."""
    text = f"""
builtin.module attributes {{nc.machine = "trn1", neuronir.phase = "virtual"}} {{
  nc.variable "i" : "input" memref<2xi32, #nc.space<"hbm">> index 0
  nc.variable "x" : "input" memref<512xf32, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<1024xf32, #nc.space<"hbm">> index 0
  nc.variable "z" : "output" memref<512xf32, #nc.space<"hbm">> index 1
  nc.func "main" {{
    %i = nc.address_of @i : memref<2xi32, #nc.space<"hbm">>
    %x = nc.address_of @x : memref<512xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<1024xf32, #nc.space<"hbm">>
    %z = nc.address_of @z : memref<512xf32, #nc.space<"hbm">>
    nc.dma (%y[0:1 | 512:1 | 0]) = (%x[0:1 | 512:1 | 0])
    nc.dma (%y[0:1 | 512:1 | 512]) = (%x[0:1 | 512:1 | 0])
    nc.dma (%z[0:1 | 512:1 | 0]) = (%x[0:1 | 512:1 | 0])
    %n = nc.alloc : memref<1x2xi32, #nc.space<"sbuf">>
    nc.dma (%n[0:1 | 2:1 | 0]) = (%i[0:1 | 2:1 | 0])
    %r = nc.register_load () = (%n[0:1 | 1:1 | 0]) {{low = 0, high = 6}} -> index
    %s = nc.register_load () = (%n[0:1 | 1:1 | 1]) {{low = 0, high = 6}} -> index
    {first}
    {second}
    nc.return
  }}
}}
"""
    module = Parser(CONTEXT, text).parse_module()
    module.verify()
    return module


def _write(at: str) -> str:
    return f"nc.dma (%y[0:1 | {ROW}:1 | {at}]) = (%x[0:1 | {ROW}:1 | 0])"


def _read(at: str) -> str:
    return f"nc.dma (%z[0:1 | {ROW}:1 | 0]) = (%y[0:1 | {ROW}:1 | {at}])"


def _refused(first: str, second: str) -> bool:
    before = take_snapshot(_program(first, second))
    module = _program(first, second)
    one, other = [op for op in module.walk() if isinstance(op, DmaOp)][-2:]
    other.detach()
    assert one.parent is not None
    one.parent.insert_op_before(other, one)
    return is_refused(before, module)


HERE, NEXT, HALF = "0 + 64 * %r", "64 + 64 * %r", "32 + 64 * %r"


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        # The values are different: x is read at another place.
        (_write(HERE), _write(NEXT).replace("64:1 | 0])", "64:1 | 64])"), False),
        (_write(HERE), _write(HALF).replace("64:1 | 0])", "64:1 | 64])"), True),
        (_write(HERE), _read(NEXT), False),
        (_write(HERE), _read(HALF), True),
        (_write(HERE), _read(HERE), True),
        (_read(HERE), _write(NEXT), False),
        (_read(HERE), _write(HALF), True),
        # Another register may have the same value, and a fixed address may be that of a row.
        (_write(HERE), _write("64 + 64 * %s").replace("64:1 | 0])", "64:1 | 64])"), True),
        (_write(HERE), _read("64 + 64 * %s"), True),
        (_write(HERE), _write("384").replace("64:1 | 0])", "64:1 | 64])"), True),
        (_write(HERE), _read("384"), True),
        (_read(HERE), _write("384"), True),
        # The last row that the register reaches ends at 448.
        (_write(HERE), _read("448"), False),
        (_write(HERE), _write("448").replace("64:1 | 0])", "64:1 | 64])"), False),
        # Parts of the array that the registers keep apart.
        (_write(HERE), _read("512 + 64 * %s"), False),
    ],
)
def test_exchanged_accesses(first: str, second: str, refused: bool) -> None:
    assert _refused(first, second) == refused


def test_pieces_that_meet_by_way_of_others() -> None:
    """Updates of neighbouring rows; a read that only the first may reach passes the others."""
    last = _write("128 + 64 * %r").replace("64:1 | 0])", "64:1 | 128])")
    three = f"{_write(HERE)}\n    {_write(NEXT)}\n    {last}"
    early = _read("0")
    assert not _refused(f"{three}", early)
    assert _refused(f"{_write(NEXT)}\n    {_write(HERE)}", early)
