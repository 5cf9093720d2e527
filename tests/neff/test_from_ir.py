"""From nc modules to programs: streams, loops, calls, registers, variables, sources."""

from dataclasses import replace

import pytest

from neuronir._xdsl import LocatedParser
from neuronir.dialects.nc.enums import DType, Engine
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    REGISTER,
    Affine,
    Call,
    Instruction,
    Loop,
    Program,
    Update,
    Wait,
)
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.registry import Registry
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.neff.reader import parse_neff
from neuronir.targets.neff.writer import neff_pieces

LOOPED = """
builtin.module attributes {nc.machine = "trn1"} {
  nc.variable "x" : "input" memref<128x64xf32, #nc.space<"hbm">> index 0
    layout array<i64: 0, 1> named "p.1" at 0
  nc.variable "y" : "output" memref<128x64xf32, #nc.space<"hbm">> index 0 at 32768
  nc.variable "w" : "constant" memref<4xi32, #nc.space<"hbm">>
    value dense<[1, 2, 3, 4]> : tensor<4xi32> at 65536
  nc.func "layer" {
  ^bb0(%base: index):
    %x = nc.address_of @x : memref<128x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x64xf32, #nc.space<"hbm">>
    %t = nc.alloc at 256 : memref<128x64xf32, #nc.space<"sbuf">>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    scf.for %i = %zero to %four step %one {
      nc.dma (%t[0:128 | 16:1 | 0 + 16 * %i]) = (%x[0:128 * 64 | 16:1 | 0 + 16 * %i + 1 * %base])
        on dma0 update [<3, 16>] loc("copy.1")
      nc.dma (%y[0:128 * 64 | 16:1 | 0 + 16 * %i]) = (%t[0:128 | 16:1 | 0 + 16 * %i])
        on dma1 by pool wait [<3, 16 + 16 * %i>] loc("copy.1")
    }
    nc.return
  }
  nc.func "main" {
    %zero = arith.constant 0 : index
    nc.call @layer(%zero)
    nc.return
  }
}
"""

REGISTERS = """
builtin.module attributes {nc.machine = "trn1"} {
  nc.variable "x" : "input" memref<4xi32, #nc.space<"hbm">> index 0 at 0
  nc.func "main" {
    %x = nc.address_of @x : memref<4xi32, #nc.space<"hbm">>
    %t = nc.alloc at 0 : memref<1x64xi32, #nc.space<"sbuf">>
    %a = nc.register_load () = (%x[0:1 * 4 | 1:1 | 0]) {low = 0, high = 3}
      on dve -> index
    %b = nc.register_load () = (%x[0:1 * 4 | 1:1 | 1]) {low = 0, high = 3}
      on dve -> index
    nc.tensor_copy (%t[0:1 | 1:1 | 0 + 1 * %a]) = (%t[0:1 | 1:1 | 8 + 2 * %b]) on ENGINE
    %c = nc.register_load () = (%x[0:1 * 4 | 1:1 | 2]) {low = 0, high = 3}
      on dve -> index
    nc.tensor_copy (%t[0:1 | 1:1 | 0 + 1 * %c]) = (%t[0:1 | 1:1 | 8]) on dve
    nc.return
  }
}
"""


def program_of(text: str) -> Program:
    module = LocatedParser(Registry.discover().context(), text, "test.mlir").parse_module()
    return program_from_module(module, get_machine("trn1"), {"module": "m"})


def test_loops_calls_and_addresses() -> None:
    program = program_of(LOOPED)
    assert program.streams["main"] == {
        engine: [Call("layer", (Affine(0),))] for engine in (Engine.SP, Engine.POOL)
    }
    (load,) = program.streams["layer"][Engine.SP]
    (store,) = program.streams["layer"][Engine.POOL]
    assert isinstance(load, Loop) and isinstance(store, Loop) and load.trip_count == 4
    first, second = load.body[0], store.body[0]
    assert isinstance(first, Instruction) and isinstance(second, Instruction)
    assert first.dst[0] is not None and first.dst[0].address == Affine(256, ((0, 64),))
    assert first.src[0] is not None
    assert first.src[0].address == Affine(0, ((0, 64), (ARGUMENT, 4)))
    assert first.src[0].partition_stride == 256
    assert first.updates == (Update(3, 16),)
    assert second.waits == (Wait(3, Affine(16, ((0, 16),))),)
    assert program.sources[first.source].name == "copy.1"
    assert first.source == second.source
    assert program.semaphores == 4


def test_variables() -> None:
    x, y, w = program_of(LOOPED).variables
    assert (x.name, x.kind, x.index, x.shape, x.dtype) == ("p.1", "input", 0, (128, 64), DType.F32)
    assert x.strides == (4, 512)
    assert (y.strides, y.address, y.size) == ((256, 4), 32768, 32768)
    assert w.data == b"".join(i.to_bytes(4, "little") for i in (1, 2, 3, 4))


def test_container_round_trip() -> None:
    program = program_of(LOOPED)
    raw = b"".join(bytes(piece) for piece in neff_pieces(program, "1"))
    assert parse_neff(raw).program == program


def test_registers_are_numbered_and_reused() -> None:
    stream = program_of(REGISTERS.replace("ENGINE", "dve")).streams["main"][Engine.DVE]
    loads = [i for i in stream if isinstance(i, Instruction) and i.opcode == "register_load"]
    assert [i.params["register"] for i in loads] == [0, 1, 0]
    copy = stream[2]
    assert isinstance(copy, Instruction) and copy.dst[0] is not None and copy.src[0] is not None
    assert copy.dst[0].address == Affine(0, ((REGISTER, 4),))
    assert copy.src[0].address == Affine(32, ((REGISTER + 1, 8),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (REGISTERS.replace("ENGINE", "pool"), "on POOL uses a register of DVE"),
        (LOOPED.replace(" at 256", ""), "nc.alloc has no address"),
        (LOOPED.replace(" at 32768", ""), "@y has no address"),
        (LOOPED.replace("nc.call @layer", "nc.call @other"), "@other, which does not exist"),
        (LOOPED.replace("%zero to %four", "%base to %four"), "loops run from 0"),
        (LOOPED.replace('"main"', '"start"'), "no nc.func @main"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(NeuronError, match="NIR_ENC006") as caught:
        program_of(text)
    assert message in caught.value.message


def test_sources_are_interned() -> None:
    program = program_of(LOOPED.replace('loc("copy.1")\n    }', 'loc("copy.2")\n    }'))
    assert [s.name for s in program.sources] == ["", "copy.1", "copy.2"]
    assert replace(program.sources[1], name="copy.2") == program.sources[2]
