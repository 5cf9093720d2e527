"""What ACT and DVE both can do has the same bits on both, and goes to where it is done first."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from neuronir._xdsl import LocatedParser
from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine
from neuronir.dialects.nc.instruction import Instruction
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.nc.machine_rules import violations
from neuronir.passes import statistics
from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.balance import NcBalanceEvictionsPass
from neuronir.passes.nc.balance_forms import other_form
from neuronir.passes.nc.synchronise import NcSynchronisePass
from neuronir.registry import Registry
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.ir_runner import run_module
from tests.nc.tiles import Array, compute, pattern
from tests.passes_nc.ordering import ordering

TRN1 = get_machine("trn1")
SHAPE = (8, 64)
COLUMN = (8, 1)
LIT = Path(__file__).parents[2] / "lit" / "passes" / "nc"
COPY, RELU = Activation.COPY, Activation.RELU
ADD, SUBTRACT, MULTIPLY, MAX = AluOp.ADD, AluOp.SUBTRACT, AluOp.MULTIPLY, AluOp.MAX
Params = dict[str, int | float]

ON_ACT: list[tuple[str, Params]] = [
    ("", {"func": COPY}),
    ("", {"func": RELU}),
    ("", {"func": COPY, "scale": 0.3}),
    ("", {"func": COPY, "scale": -1.7, "bias": 0.1}),
    ("", {"func": RELU, "bias": -0.2}),
    ("", {"func": RELU, "scale": 3.1}),
    ("a", {"func": COPY}),
    ("b", {"func": COPY, "scale": 0.7}),
    ("ab", {"func": COPY}),
    ("b", {"func": RELU}),
]
ON_DVE: list[tuple[str, Params]] = [
    ("", {"op0": MULTIPLY, "imm0": 0.3}),
    ("", {"op0": SUBTRACT, "imm0": 0.3}),
    ("", {"op0": ADD, "imm0": 0.3, "reverse0": 1}),
    ("", {"op0": MULTIPLY, "imm0": 0.3, "op1": SUBTRACT, "imm1": 0.1}),
    ("", {"op0": ADD, "imm0": 0.3, "op1": MAX, "imm1": 0.0}),
    ("", {"op0": MAX, "imm0": 0.0}),
    ("a", {"op0": MULTIPLY}),
    ("a", {"op0": ADD}),
    ("b", {"op0": MULTIPLY, "imm0": 0.7, "op1": ADD}),
    ("ab", {"op0": MULTIPLY, "op1": ADD}),
]
NOT_ON_ACT: list[tuple[str, Params]] = [
    ("", {"op0": ADD, "imm0": 0.0}),
    ("", {"op0": SUBTRACT, "imm0": 0.3, "reverse0": 1}),
    ("", {"op0": ADD, "imm0": 0.3, "op1": MULTIPLY, "imm1": 0.3}),
    ("", {"op0": MULTIPLY, "imm0": 0.3, "op1": MULTIPLY, "imm1": 0.3}),
    ("", {"op0": MAX, "imm0": 0.5}),
    ("", {"op0": MAX, "imm0": 0.0, "op1": ADD, "imm1": 0.5}),
    ("a", {"op0": SUBTRACT}),
    ("a", {"op0": MAX}),
]


def instruction(opcode: str, columns: str, params: Params, to: DType, of: DType) -> Instruction:
    """An instruction on [8, 64]; `columns` names those of its two numbers that are operands."""
    engine = Engine.ACT if opcode == "activation" else Engine.DVE
    dst, src = pattern(SHAPE, to), pattern(SHAPE, of)
    if opcode == "tensor_copy":
        return Instruction(opcode, engine, (dst,), (src,), params)
    numbers = [pattern(COLUMN, DType.F32) if name in columns else None for name in "ab"]
    outs = (dst, None) if engine is Engine.ACT else (dst,)
    return Instruction(opcode, engine, outs, (src, *numbers), params)


def data(of: DType) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(SHAPE) * 10.0 ** rng.integers(-9, 9, SHAPE)).astype(np.float32)
    x[0, :6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40]
    with np.errstate(all="ignore"):
        return x.astype(of.numpy), *rng.standard_normal((2, *COLUMN)).astype(np.float32)


def result(done: Instruction, roles: tuple[int | None, ...], of: DType) -> bytes:
    dst = done.dst[0]
    assert dst is not None
    given = list(zip(data(of), (of, DType.F32, DType.F32), strict=True))
    sources = [None if role is None else given[role] for role in roles]
    results = [(SHAPE, dst.dtype), None][: len(done.dst)]
    return compute(done.opcode, done.engine, results, sources, done.params)[0].tobytes()


ALL = [
    *(("activation", *case) for case in ON_ACT),
    *(("tensor_scalar", *case) for case in ON_DVE),
    ("tensor_copy", "", Params()),
]
FLOATS = (DType.F32, DType.BF16, DType.F16, DType.F8E4M3)


@pytest.mark.parametrize(("opcode", "columns", "params"), ALL)
def test_both_forms_give_the_same_bits(opcode: str, columns: str, params: Params) -> None:
    for to, of in product(FLOATS, FLOATS):
        done = instruction(opcode, columns, params, to, of)
        form = other_form(done)
        assert form is not None and form.engine is not done.engine
        made = form.record(done)
        assert not list(violations(made, TRN1))
        own = tuple(None if p is None else i for i, p in enumerate(done.src))
        assert result(made, form.roles, of) == result(done, own, of), (to, of)
        back = other_form(made)
        assert back is not None and back.record(made).engine is done.engine


@pytest.mark.parametrize(("columns", "params"), NOT_ON_ACT)
def test_what_only_dve_computes(columns: str, params: Params) -> None:
    assert other_form(instruction("tensor_scalar", columns, params, DType.F32, DType.F32)) is None


@pytest.mark.parametrize("of", [DType.I8, DType.U8, DType.I16, DType.U16])
def test_both_convert_small_integers(of: DType) -> None:
    """All numbers of 8 bits, and many of 16 bits, to all floats."""
    numbers = np.arange(512).astype(np.int64) * (1 if of.size == 1 else 127)
    given = numbers.astype(of.numpy).reshape(SHAPE)
    for to in FLOATS:
        found: list[bytes] = []
        for opcode, params in (("tensor_copy", Params()), ("activation", Params(func=COPY))):
            done = instruction(opcode, "", params, to, of)
            form = other_form(done)
            assert form is not None and not list(violations(form.record(done), TRN1))
            sources = [(given, of), *([None] * (len(done.src) - 1))]
            results = [(SHAPE, to), None][: len(done.dst)]
            out = compute(opcode, done.engine, results, sources, done.params)[0]
            found.append(out.tobytes())
            np.testing.assert_array_equal(out, given.astype(to.numpy))
        assert found[0] == found[1]


def test_what_only_one_can_do() -> None:
    for to, of in ((DType.F32, DType.I32), (DType.U8, DType.F32), (DType.I8, DType.U8)):
        assert other_form(instruction("tensor_copy", "", {}, to, of)) is None
        assert other_form(instruction("activation", "", {"func": COPY}, to, of)) is None
    scaled: Params = {"func": COPY, "scale": 2.0}
    assert other_form(instruction("activation", "", scaled, DType.F32, DType.U8)) is None
    assert other_form(instruction("activation", "a", {"func": COPY}, DType.F32, DType.U8)) is None
    plain = instruction("activation", "", {"func": COPY}, DType.F32, DType.F32)
    assert other_form(replace(plain, params={"func": Activation.EXP})) is None
    assert other_form(replace(plain, dst=(plain.dst[0], pattern(COLUMN, DType.F32)))) is None
    three = {"func": RELU, "scale": 2.0, "bias": 1.0}
    assert other_form(replace(plain, params=three)) is None
    pool = instruction("tensor_copy", "", {}, DType.F32, DType.F32)
    assert other_form(replace(pool, engine=Engine.POOL)) is None


def module(name: str = "balance-evictions.mlir", old: str = "", new: str = "") -> ModuleOp:
    text = (LIT / name).read_text()
    text = text.replace(old, new) if old else text
    return LocatedParser(Registry.discover().context(), text, name).parse_module()


def test_a_layer_counts_with_all_its_rounds() -> None:
    """A function is divided once: of two copies of its own, each engine gets one."""
    copy = "nc.tensor_copy (%{}[0:32 | 64:1 | 0]) = (%{}[0:32 | 64:1 | 0])"
    add = "nc.dma (%a[0:32 | 64:1 | 0])"
    copies = f"{copy.format('b', 'sum')}\n{copy.format('c', 'sum')}\n"
    rooms = "".join(f'%{n} = nc.alloc : memref<32x64xf32, #nc.space<"sbuf">>\n' for n in "bc")
    program = module("layer-function.mlir", add, f"{rooms}{copies}{add}")
    statistics.reset()
    NcBalanceEvictionsPass().apply(Context(), program)
    counts = statistics.snapshot()["nc-balance-evictions"]
    statistics.reset()
    assert counts["instructions moved"] == 1
    for engine in ("ACT", "DVE"):
        assert counts[f"instructions that both can do, on {engine}"] == 64


@pytest.mark.parametrize("window", [0, 1, 2000])
def test_the_program_gives_the_same_bytes(window: int) -> None:
    program = module()
    inputs = [np.random.default_rng(0).standard_normal((64, 128)).astype(DType.BF16.numpy)]
    expected = run_module(program, inputs, TRN1)[0].tobytes()
    steps = (
        NcBalanceEvictionsPass(window),
        *ordering(),
        NcAssignBanksPass(),
        NcAllocatePass(),
        NcSynchronisePass(),
    )
    for step in steps:
        step.apply(Context(), program)
        program.verify()
        assert run_module(program, inputs, TRN1)[0].tobytes() == expected, step.name
    binary = program_from_module(program, TRN1)
    assert run(binary, inputs, TRN1, Options(races=True)).outputs[0].tobytes() == expected
