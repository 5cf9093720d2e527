"""The instruction encoding: round trips, refusals, unrolling, disassembly."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.instruction import (
    REGISTER,
    AccessPattern,
    Affine,
    Instruction,
    Loop,
    Program,
)
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.encoding.codec import DecodeError
from neuronir.targets.encoding.disassembler import disassemble
from neuronir.targets.encoding.encoding import decode_streams, encoding_for
from neuronir.targets.encoding.stream import decode_engine
from tests.neff.programs import copy_program, programs

TRN1 = encoding_for(get_machine("trn1"))
INF1 = encoding_for(get_machine("inf1"))


@given(programs())
@settings(max_examples=20)
def test_round_trip(program: Program) -> None:
    files = TRN1.encode(program)
    assert decode_streams(files, list(program.streams)) == program.streams
    assert TRN1.encode(program) == files
    assert all(isinstance(line, str) for line in disassemble(program))


@given(programs(), st.data())
@settings(max_examples=20)
def test_damage_never_gives_a_traceback(program: Program, data: st.DataObject) -> None:
    for original in TRN1.encode(program).values():
        damaged = bytearray(original)
        for _ in range(data.draw(st.integers(1, 3))):
            damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
        cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
        for case in (bytes(damaged), cut):
            try:
                decode_engine(case, list(program.streams))
            except DecodeError:
                pass


def test_unrolling_evaluates_addresses() -> None:
    flat = INF1.legalise(copy_program())
    assert list(flat.streams) == ["main"]
    store = flat.streams["main"][Engine.POOL]
    assert len(store) == 4
    last = store[-1]
    assert isinstance(last, Instruction) and last.dst[0] is not None
    assert last.dst[0].address == Affine(32768 + 3 * 64)
    assert last.waits[0].value == Affine(64)


def test_unrolling_has_a_limit() -> None:
    with pytest.raises(NeuronError, match="NCC_EBVF030"):
        replace(INF1, max_instructions=7).legalise(copy_program())


def test_unrolling_refuses_registers() -> None:
    program = copy_program()
    loop = program.streams["body"][Engine.SP][0]
    assert isinstance(loop, Loop)
    load = loop.body[0]
    assert isinstance(load, Instruction)
    source = load.src[0]
    assert isinstance(source, AccessPattern) and source.space is Space.HBM
    loop.body[0] = replace(load, src=(replace(source, address=Affine(0, ((REGISTER, 4),))),))
    with pytest.raises(NeuronError, match="NIR_ENC004.*no registers"):
        INF1.legalise(program)


def test_wrong_engine_is_refused() -> None:
    program = copy_program()
    program.streams["body"][Engine.PE] = program.streams["body"].pop(Engine.SP)
    with pytest.raises(NeuronError, match="NIR_ENC003"):
        TRN1.encode(program)


def test_disassembly_names_sources() -> None:
    text = "\n".join(disassemble(copy_program()))
    assert "loop i0 in 0..4 {" in text
    assert "call @body(0)" in text
    assert (
        "wait(s0 >= 16 + 16*i0, s1 >= 16*i0) update(s1 += 16)  ; copy.1 jit(f)/copy model.py:3"
        in text
    )
