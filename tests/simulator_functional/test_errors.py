"""Every misuse is one error that names the instruction, its operands and where it comes from."""

from collections.abc import Sequence

import numpy as np
import pytest

from neuronir.dialects.nc.enums import Activation, DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    REGISTER,
    AccessPattern,
    Affine,
    Call,
    Instruction,
    Item,
    Loop,
    Program,
    Update,
    Variable,
    Wait,
)
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.races import check_races
from tests.simulator_functional.build import copy, program, tile, variable

MACHINE = get_machine("trn1")


def fails(
    code: str,
    *items: Item,
    variables: Sequence[Variable] = (),
    inputs: Sequence[np.ndarray] = (),
    options: Options | None = None,
) -> str:
    """The text of the error that a program of one stream gives."""
    first = items[0]
    assert isinstance(first, Instruction)
    streams: dict[Engine, list[Item]] = {}
    for item in items:
        assert isinstance(item, Instruction)
        streams.setdefault(item.engine, []).append(item)
    with pytest.raises(NeuronError) as caught:
        run(program(streams, variables), inputs, MACHINE, options)
    assert caught.value.code == code
    return str(caught.value)


def memset(ap: AccessPattern, engine: Engine = Engine.DVE) -> Instruction:
    return Instruction("memset", engine, (ap,), (), {"value": 2.0})


def test_uninitialised_read() -> None:
    text = fails("NIR_SIM001", memset(tile(0, 4)), copy(Engine.DVE, tile(64, 8), tile(0, 8)))
    assert "partition 0, element [4]" in text
    assert "dve tensor_copy(dst=f32@sbuf[0:128]+0x40 [1,8], src=f32@sbuf[0:128]+0x0 [1,8])" in text
    assert "'op.1' (layer/op, model.py:7)" in text


def test_uninitialised_bytes_may_be_nan_or_zero() -> None:
    out = variable("y", "output", 0, 128, 8)
    store = copy(Engine.DMA0, tile(0, 8, Space.HBM), tile(0, 8))
    for mode, expected in (("nan", np.nan), ("zero", 0.0)):
        options = Options(uninitialized=mode)  # type: ignore[arg-type]
        result = run(program({Engine.DMA0: [store]}, [out]), [], MACHINE, options)
        assert np.array_equal(result.outputs[0], np.full((128, 8), expected), equal_nan=True)


def test_partly_written_element_is_uninitialised() -> None:
    half = tile(0, 1, dtype=DType.BF16)
    fails("NIR_SIM001", memset(half), copy(Engine.DVE, tile(64, 1), tile(0, 1)))


def test_output_that_is_not_written() -> None:
    out = variable("y", "output", 0, 128, 8)
    store = copy(Engine.DMA0, tile(0, 4, Space.HBM), tile(0, 4))
    text = fails("NIR_SIM001", memset(tile(0, 4)), variables=[out])
    assert "1024 elements of output 0 ('y')" in text
    wide = AccessPattern(Space.HBM, DType.F32, Affine(0), 0, 128, ((1, 4),), 32)
    store.dst = (wide,)
    store.waits = (Wait(0, Affine(1)),)
    fill = memset(tile(0, 4))
    fill.updates = (Update(0),)
    assert "512 elements" in fails("NIR_SIM001", fill, store, variables=[out])


def test_out_of_range() -> None:
    limit = MACHINE.sbuf_partition_bytes
    text = fails("NIR_SIM002", memset(tile(limit - 8, 4)))
    assert f"touches bytes {limit - 8} to {limit + 7} of each partition of SBUF" in text
    fails("NIR_SIM002", copy(Engine.DMA0, tile(0, 4), tile(0, 4, Space.HBM)))


def test_engines_reach_only_their_memories() -> None:
    psum = tile(0, 4, Space.PSUM)
    assert "pool cannot write PSUM" in fails("NIR_SIM009", memset(psum, Engine.POOL))
    text = fails("NIR_SIM009", copy(Engine.DVE, tile(0, 4), tile(0, 4, Space.HBM)))
    assert "operand 'src': dve cannot read HBM, only SBUF and PSUM" in text
    text = fails("NIR_SIM009", memset(tile(0, 4, start=16, partitions=32)))
    assert "starts at partition 16; 32 partitions may start at 0, 32, 64, 96" in text


def matmul(dst: AccessPattern, accumulate: int) -> Instruction:
    sources = (tile(0, 128), tile(0, dst.free[0][1]))
    return Instruction("matmul", Engine.PE, (dst,), sources, {"accumulate": accumulate})


def test_psum_misuse() -> None:
    ready = memset(tile(0, 512))
    ready.updates = (Update(0),)
    crossing = matmul(tile(1024, 512, Space.PSUM), 0)
    crossing.waits = (Wait(0, Affine(1)),)
    assert "is in PSUM banks 0 and 1: it must be in one" in fails("NIR_SIM009", ready, crossing)
    zero = memset(tile(0, 512, Space.PSUM))
    zero.updates = (Update(0),)
    added = matmul(tile(0, 512, Space.PSUM), 1)
    added.waits = (Wait(0, Affine(2)),)
    assert "no matmul has started" in fails("NIR_SIM010", ready, zero, added)


def test_limits_of_instructions() -> None:
    psum = tile(0, 512, Space.PSUM)

    def product(stationary: AccessPattern, moving: AccessPattern) -> Instruction:
        return Instruction("matmul", Engine.PE, (psum,), (stationary, moving), {"accumulate": 0})

    text = fails("NIR_SIM009", product(tile(0, 256), tile(0, 512)))
    assert "operand 'stationary' has 256 columns; the limit is 128" in text
    text = fails("NIR_SIM009", product(tile(0, 128), tile(0, 600)))
    assert "operand 'moving' has 600 columns; the limit is 512" in text
    text = fails("NIR_SIM009", product(tile(0, 128, dtype=DType.BF16), tile(0, 512)))
    assert "f32 and tf32 can be multiplied only with each other" in text
    text = fails("NIR_SIM009", product(tile(0, 128, dtype=DType.I32), tile(0, 512)))
    assert "operand 'stationary' is i32; matmuls of trn1 take" in text
    deep = AccessPattern(Space.SBUF, DType.F32, Affine(0), 0, 128, ((1, 1),) * 5)
    assert "has 5 free dims; the limit is 4" in fails("NIR_SIM009", memset(deep))
    wide = Instruction("bn_stats", Engine.DVE, (tile(0, 6),), (tile(64, 600),))
    assert "operand 'src' has 600 elements; the limit is 512" in fails("NIR_SIM009", wide)


def test_constants_and_inputs_are_not_written() -> None:
    weights = variable("w", "constant", 0, 128, 4)
    weights.data = bytes(weights.size)
    ready = memset(tile(0, 4))
    ready.updates = (Update(0),)
    store = copy(Engine.DMA0, tile(0, 4, Space.HBM), tile(0, 4))
    store.waits = (Wait(0, Affine(1)),)
    fails("NIR_SIM009", ready, store, variables=[weights])


def test_gather_outside_its_table() -> None:
    table = variable("table", "input", 0, 6, 4)
    row = AccessPattern(Space.HBM, DType.F32, Affine(0), 0, 1, ((1, 4),))
    index = tile(64, 1, dtype=DType.I32)
    fill = Instruction("memset", Engine.DVE, (index,), (), {"value": 6}, updates=(Update(0),))
    gather = Instruction(
        "dma_gather",
        Engine.DMA0,
        (tile(0, 4),),
        (row, index),
        {"row_stride": 16, "rows": 6},
        (Wait(0, Affine(1)),),
        trigger=Engine.POOL,
    )
    inputs = [np.zeros((6, 4), np.float32)]
    text = fails("NIR_SIM003", fill, gather, variables=[table], inputs=inputs)
    assert "index 6 (partition 0) is outside rows 0..5" in text
    fill.params = {"value": 5}
    result = run(program({Engine.DVE: [fill], Engine.DMA0: [gather]}, [table]), inputs, MACHINE)
    assert result.statistics.read_bytes == {"input": 128 * 16}


def test_deadlock_names_every_engine() -> None:
    a = memset(tile(0, 4))
    a.waits, a.updates = (Wait(1, Affine(1)),), (Update(0),)
    b = memset(tile(64, 4), Engine.POOL)
    b.waits, b.updates = (Wait(0, Affine(1)),), (Update(1),)
    text = fails("NIR_SIM004", a, b)
    assert "dve waits for S[1] >= 1 (is 0) at dve memset" in text
    assert "pool waits for S[0] >= 1 (is 0) at pool memset" in text


def test_wrong_inputs() -> None:
    x = variable("x", "input", 0, 2, 3)
    for wrong in (np.zeros((2, 3)), np.zeros((3, 2), np.float32)):
        with pytest.raises(NeuronError, match="NIR_SIM008.*must be float32"):
            run(program({}, [x]), [wrong], MACHINE)
    with pytest.raises(NeuronError, match="takes 1 inputs, 0 are given"):
        run(program({}, [x]), [], MACHINE)


def test_malformed_programs() -> None:
    bad = memset(tile(0, 4))
    bad.waits = (Wait(99, Affine(1)),)
    assert "semaphore 99 is not one of the 8" in fails("NIR_SIM006", bad)
    for callee, problem in (("main", "calls itself"), ("other", "unknown function 'other'")):
        with pytest.raises(NeuronError, match=problem):
            check_races(program({Engine.DVE: [Call(callee, ())]}))
    wrong = copy(Engine.DVE, tile(0, 4), tile(0, 5))
    assert "expected 128 x 4" in fails("NIR_SIM006", wrong)


def test_warnings_name_the_instruction() -> None:
    negative = memset(tile(0, 4))
    negative.params = {"value": -1.0}
    root = Instruction(
        "activation",
        Engine.ACT,
        (tile(64, 4), None),
        (tile(0, 4), None, None),
        {"func": int(Activation.SQRT), "scale": 1.0, "bias": 0.0},
        (Wait(0, Affine(1)),),
    )
    negative.updates = (Update(0),)
    result = run(program({Engine.DVE: [negative], Engine.ACT: [root]}), [], MACHINE)
    (warning,) = result.warnings
    assert warning.startswith("512 arguments of sqrt outside [")
    assert "act activation(dst=" in warning and "'op.1' (layer/op, model.py:7)" in warning


def test_two_transfers_in_flight_on_one_semaphore() -> None:
    x = variable("x", "input", 0, 128, 8)
    loads: list[Item] = []
    for i in range(2):
        load = copy(Engine.DMA0, tile(64 * i, 4), tile(0, 4, Space.HBM))
        load.updates = (Update(0, 16),)
        loads.append(load)
    with pytest.raises(NeuronError, match="NIR_SIM020.*Data race .* on semaphore 0: both"):
        check_races(program({Engine.DMA0: loads}, [x]))


def test_registers_calls_and_loops() -> None:
    """A loop of calls that copy row `start + i` of x, where `start` is data."""
    x = variable("x", "input", 0, 9, 4)
    start = Variable("start", "input", 4, 512, (1,), DType.I32, (), 1)
    y = variable("y", "output", 1024, 2, 4)
    word = AccessPattern(Space.HBM, DType.I32, Affine(512), 0, 1, ((1, 1),))
    load = Instruction(
        "register_load", Engine.SP, (), (word,), {"register": 2, "low": 0, "high": 7}
    )
    row = AccessPattern(
        Space.HBM, DType.F32, Affine(0, ((32, 16), (REGISTER + 2, 16))), 0, 1, ((1, 4),)
    )
    to = AccessPattern(Space.HBM, DType.F32, Affine(1024, ((33, 1),)), 0, 1, ((1, 4),))
    move = copy(Engine.DMA3, to, row)
    whole = Program(
        "trn1",
        "main",
        {
            "main": {
                Engine.SP: [
                    load,
                    Loop(2, [Call("row", (Affine(0, ((0, 1),)), Affine(0, ((0, 16),))))]),
                ]
            },
            "row": {Engine.SP: [move]},
        },
        [x, start, y],
        [],
    )
    data = np.arange(36, dtype=np.float32).reshape(9, 4)
    for given, used in ((3, 3), (99, 7), (-5, 0)):
        inputs = [data, np.array([given], np.int32)]
        result = run(whole, inputs, MACHINE)
        assert np.array_equal(result.outputs[0], data[used : used + 2])
