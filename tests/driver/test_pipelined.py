"""Pipelines over cores: what the stages compute, and how requests move."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType

from neuronir.cli import neuron_cc, neuron_sim
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Instruction, Loop, Variable
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import load_npz, unpack
from neuronir.driver import CompiledResult, CompileOptions, compile_file, pipelined
from neuronir.driver.judge import judge_compile
from neuronir.driver.pipelined import PipelinedResult, compile_pipelined
from neuronir.driver.specification import specify
from neuronir.driver.weights import entry_function
from neuronir.passes.hlo.stages.build import Stage
from neuronir.passes.hlo.stages.costs import live_bytes, unit_costs
from neuronir.passes.hlo.stages.cuts import Cuts
from neuronir.passes.hlo.stages.graph import Graph
from neuronir.targets.encoding.disassembler import disassemble
from neuronir.targets.neff.header import Header
from neuronir.targets.neff.pipeline import PipelineNeff, load_any, read_members
from neuronir.targets.neff.reader import Neff, read_neff
from neuronir.targets.pipeline import HOST
from neuronir.targets.simulator.functional import run
from neuronir.targets.simulator.memory import Memory
from neuronir.targets.simulator.pipelined import (
    CoreTime,
    program_time,
    requests_of,
    run_pipeline,
    time_pipeline,
)
from neuronir.targets.simulator.races import check_races
from neuronir.targets.simulator.resident import warm_program

ROOT = Path(__file__).resolve().parents[2]
BERT = ROOT / "examples" / "bert_tiny.hlo"
Arrays = list[NDArray[np.generic]]
INF1 = get_machine("inf1")
MATMULT = CompileOptions(auto_cast="matmult")

# A residual from the first layer to the last, an input that only the end reads, results that are a
# constant, an argument, and a broadcast of what the first layer makes.
SKIPS = """HloModule skips
ENTRY main {
  x = f32[64,256] parameter(0)
  late = f32[64,256] parameter(1)
  w0 = f32[256,256] parameter(2)
  w1 = f32[256,256] parameter(3)
  w2 = f32[256,256] parameter(4)
  w3 = f32[256,256] parameter(5)
  a = f32[64,256] dot(x, w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[64,256] dot(a, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64,256] tanh(b)
  c = f32[64,256] dot(t, w2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = f32[64,256] dot(c, w3), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,256] add(d, a)
  f = f32[64,256] multiply(e, late)
  one = f32[] constant(1.5)
  ones = f32[4] broadcast(one), dimensions={}
  wide = f32[2,64,256] broadcast(a), dimensions={1,2}
  ROOT r = (f32[64,256], f32[4], f32[64,256], f32[2,64,256]) tuple(f, ones, late, wide)
}
"""


def bert() -> tuple[Path, CompileOptions, Arrays]:
    """The example with its weights bound, and all of its arguments."""
    entries = load_npz(str(ROOT / "examples" / "bert_tiny_inputs.npz"))
    arrays = [unpack(entries, f"arg{i}") for i in range(41)]
    weights = {f"arg{i}": array for i, array in enumerate(arrays[:39])}
    return BERT, replace(MATMULT, weights=weights), arrays


def drawn(path: Path, seed: int = 1) -> Arrays:
    """Small arguments for a program."""
    module = compile_file(str(path), "inf1", replace(MATMULT, compile_to="parsed")).module
    rng = np.random.default_rng(seed)
    out: Arrays = []
    for argument in entry_function(module).body.block.args:
        assert isinstance(argument.type, TensorType)
        shape, dtype = argument.type.get_shape(), argument.type.element_type
        values = rng.standard_normal(shape) / 4
        integer = str(dtype).startswith("i")
        out.append(np.zeros(shape, np.int32) if integer else values.astype(np.float32))
    return out


def given(result: PipelinedResult, arguments: Arrays) -> Arrays:
    used = [v.index for v in result.pipeline.interface.variables if v.kind == "input"]
    return [arguments[i] for i in used]


def check(
    path: Path, options: CompileOptions, arguments: Arrays, cores: int, target: str = "inf1"
) -> PipelinedResult:
    """Compile for some cores; the interpreter agrees on the program that was not cut."""
    result = compile_pipelined(str(path), target, options, cores)
    machine = get_machine(target)
    outputs = run_pipeline(result.pipeline, given(result, arguments), machine).outputs
    specification = specify(partial(compile_file, str(path), target), options)
    assert judge_compile(specification, arguments, outputs).ok
    return result


@pytest.mark.parametrize("cores", [pytest.param(n, marks=pytest.mark.slow) for n in (2, 5)])
def test_bert_agrees_with_the_program_that_is_not_cut(cores: int) -> None:
    """Row D04 of docs/features.md: only the first stage reads inputs of the host."""
    path, options, arguments = bert()
    result = check(path, options, arguments, cores)
    assert len(result.pipeline.stages) == cores
    # Only the first stage gets anything from the host: what others need of it is sent on.
    assert result.pipeline.sent[0] == 2 * 2 * 32 * 4
    one = time_pipeline(compile_pipelined(str(path), "inf1", options, 1).pipeline, INF1)
    many = time_pipeline(result.pipeline, INF1)
    assert many.period_ns < one.period_ns
    assert many.latency_ns > one.latency_ns


@pytest.mark.parametrize(
    ("name", "cores"),
    [
        ("mlp", 4),
        ("lenet", 2),
        pytest.param("hf_resnet_tiny", 4, marks=pytest.mark.slow),
        pytest.param("mlp", 2, marks=pytest.mark.slow),
        pytest.param("lenet", 4, marks=pytest.mark.slow),
        pytest.param("hf_resnet_tiny", 2, marks=pytest.mark.slow),
    ],
)
def test_models_agree_with_the_program_that_is_not_cut(name: str, cores: int) -> None:
    path = ROOT / "tests" / "corpus" / "hlo" / "core" / f"{name}.hlo"
    check(path, MATMULT, drawn(path), cores)


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
def test_values_are_sent_over_several_links(tmp_path: Path, cores: int) -> None:
    path = tmp_path / "skips.hlo"
    path.write_text(SKIPS)
    result = check(path, MATMULT, drawn(path), cores)
    for number, feeds in enumerate(result.pipeline.feeds):
        assert all(HOST <= feed.stage < number for feed in feeds)


LOOP = """HloModule loop
body {
  p = (s32[], f32[16,32], f32[32,32]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[16,32] get-tuple-element(p), index=1
  w = f32[32,32] get-tuple-element(p), index=2
  one = s32[] constant(1)
  n = s32[] add(i, one)
  d = f32[16,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[16,32] tanh(d)
  ROOT r = (s32[], f32[16,32], f32[32,32]) tuple(n, t, w)
}
cond {
  p = (s32[], f32[16,32], f32[32,32]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(200)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[16,32] parameter(0)
  w = f32[32,32] parameter(1)
  zero = s32[] constant(0)
  a = f32[16,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = (s32[], f32[16,32], f32[32,32]) tuple(zero, a, w)
  l = (s32[], f32[16,32], f32[32,32]) while(t), condition=cond, body=body
  y = f32[16,32] get-tuple-element(l), index=1
  v = f32[32,32] get-tuple-element(l), index=2
  b = f32[16,32] dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[16,32] dot(b, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[16,32] dot(c, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


@pytest.mark.parametrize("cores", [2, 3])
def test_loop_that_stays_is_in_one_stage(tmp_path: Path, cores: int) -> None:
    """Its tuples are not sent: the stages before and behind it get arrays.

    The weights that it does not change are read before it.
    """
    path = tmp_path / "loop.hlo"
    path.write_text(LOOP)
    result = check(path, MATMULT, drawn(path), cores, "trn1")
    assert len(result.pipeline.stages) == cores
    module = compile_file(str(path), "trn1", replace(MATMULT, compile_to="hlo")).module
    graph = Graph.of(entry_function(module).body.block)
    names = [op.name for op in graph.units]
    at = names.index("hlo.while")
    assert names[at - 1 : at + 3] == [
        "hlo.tuple",
        "hlo.while",
        "hlo.get_tuple_element",
        "hlo.convert",
    ]
    sent = live_bytes(graph)
    assert list(np.flatnonzero(np.isinf(sent))) == [at, at + 1]
    costs = unit_costs(graph, get_machine("trn1"))
    flops = 200 * 2 * 16 * 32 * 32
    assert costs[at, 0] == pytest.approx(flops / get_machine("trn1").peak_flops_bf16 * 1e9)
    assert costs[at, 1] > 200 * costs[at + 2 :, 1].min() > costs[at - 1, 1] == 0


def test_weights_that_stay_on_a_core_are_loaded_once() -> None:
    """The second run, without their transfers and in the memory of the first, gives the same.

    Row D06 of docs/features.md.
    """
    path, options, arguments = bert()
    program = compile_file(str(path), "inf1", options).program
    assert program is not None
    warm = warm_program(program)
    total = sum(v.size for v in program.variables if v.kind == "constant")
    assert warm.resident_bytes + warm.loaded_bytes >= total > 0
    assert warm.resident_bytes > 0.8 * total
    memory = Memory(INF1, program.variables)
    first = run(program, arguments[39:], INF1, memory=memory).outputs
    other = [arguments[39][::-1], arguments[40][::-1]]
    changed = run(warm.program, other, INF1, memory=memory).outputs
    again = run(warm.program, arguments[39:], INF1, memory=memory).outputs
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    expected = run(program, other, INF1).outputs
    assert all(np.array_equal(a, b) for a, b in zip(changed, expected, strict=True))
    check_races(warm.program)
    assert program_time(warm.program, INF1).run_ns < 0.6 * program_time(program, INF1).run_ns


def test_weights_that_something_writes_over_are_loaded_each_time() -> None:
    path, options, _ = bert()
    program = compile_file(str(path), "inf1", options).program
    assert program is not None
    streams = program.streams["main"]
    left = warm_program(program).program.streams["main"][Engine.SP]
    loads = [i for i in streams[Engine.SP] if isinstance(i, Instruction) and i not in left]
    (dst,) = loads[0].dst
    before = warm_program(program).resident_bytes
    streams[Engine.DVE].append(Instruction("memset", Engine.DVE, (dst,), (), {"value": 0.0}))
    lost = loads[0].src[0]
    assert lost is not None
    assert warm_program(program).resident_bytes == before - lost.bytes
    streams[Engine.DVE].append(Loop(2, []))
    assert warm_program(program).resident_bytes == 0


def test_requests_come_at_the_pace_of_the_slowest() -> None:
    cores = [CoreTime(time, link, 0) for time, link in ((5.0, 0.0), (9.0, 2.0), (4.0, 12.0))]
    latency, period = requests_of(cores, 1)
    assert latency == 5 + 2 + 9 + 12 + 4
    assert period == pytest.approx(12)
    assert requests_of(cores[:1], 4) == (5.0, 5.0)
    # Two buffers in the memory of one chip hold back a core whose results wait for the next one.
    assert requests_of(cores, 4)[1] == pytest.approx((9 + 12 + 4) / 2, rel=0.05)


@pytest.mark.slow
def test_a_pipeline_is_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, options, arguments = bert()
    result = compile_pipelined(str(path), "inf1", options, 3)
    first, second = tmp_path / "a.neff", tmp_path / "b.neff"
    result.write(first)
    compile_pipelined(str(path), "inf1", options, 3).write(second)
    assert first.read_bytes() == second.read_bytes()
    found = load_any(first)
    assert isinstance(found, PipelineNeff)
    assert found.pipeline.feeds == result.pipeline.feeds
    assert found.pipeline.interface == result.pipeline.interface
    for read, made in zip(found.pipeline.stages, result.pipeline.stages, strict=True):
        assert list(disassemble(read)) == list(disassemble(made))
    with pytest.raises(NeuronError, match="a pipeline over several cores"):
        read_neff(first)
    raw = bytearray(first.read_bytes())
    raw[3000] ^= 1
    first.write_bytes(raw)
    with pytest.raises(NeuronError, match="neff is invalid"):
        load_any(first)
    np.savez(tmp_path / "in.npz", arg39=arguments[39], arg40=arguments[40])
    expected = str(ROOT / "examples" / "bert_tiny_expected.npz")
    words = ["run", str(second), "--inputs", str(tmp_path / "in.npz"), "--expect", expected]
    assert neuron_sim.main([*words, "--rtol", "0.05"]) == 0
    assert "a pipeline of 3 cores on 1 chip" in capsys.readouterr().out
    assert neuron_sim.main(words) == 2
    assert "needs --rtol" in capsys.readouterr().err
    assert neuron_sim.main(["info", str(second)]) == 0
    assert "pipeline          3 cores" in capsys.readouterr().out


def test_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hash is that of all bytes, which takes time."""
    path = tmp_path / "skips.hlo"
    path.write_text(SKIPS)
    out = str(tmp_path / "out.neff")
    words = ["compile", str(path), "--framework", "XLA", "--no-cache", "-o", out]
    assert neuron_cc.main(words) == 0
    signed: list[str] = []
    sign = Header.sign

    def counting(self: Header, pieces: Iterable[bytes | memoryview]) -> Header:
        signed.append(self.name)
        return sign(self, pieces)

    monkeypatch.setattr(Header, "sign", counting)
    found, members = read_members(out)
    assert len(signed) == 1 and not isinstance(found, PipelineNeff) and "neff.json" in members
    assert isinstance(load_any(out), Neff) and len(signed) == 2


def test_more_cores_than_an_instance_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "skips.hlo"
    path.write_text(SKIPS)
    out = str(tmp_path / "out.neff")
    words = ["compile", str(path), "--framework", "XLA", "--no-cache", "-o", out]
    assert neuron_cc.main([*words, "--neuroncore-pipeline-cores", "65"]) == 1
    assert "the largest instance of inf1 has 64 cores" in capsys.readouterr().err
    assert neuron_cc.main([*words, "--num-neuroncores", "64"]) == 0
    assert "it is cut into" in capsys.readouterr().err


def test_programs_at_once_share_the_memory_of_a_chip(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "skips.hlo"
    path.write_text(SKIPS)
    out = str(tmp_path / "one.neff")
    assert neuron_cc.main(["compile", str(path), "--framework", "XLA", "-o", out]) == 0
    run = ["run", out, "--timing-only"]
    assert neuron_sim.main([*run, "--cores", "5"]) == 0
    text = capsys.readouterr().out
    assert "5 programs at once on 5 cores" in text and "memory of chip 1" in text
    assert neuron_sim.main(["run", out, out, "--timing-only"]) == 0
    assert "2 programs at once on 2 cores" in capsys.readouterr().out
    assert neuron_sim.main(["run", out, out]) == 2
    assert neuron_sim.main([*run, "--cores", "65"]) == 2
    assert "has 64 cores" in capsys.readouterr().err


def test_dumps_are_of_the_stages_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where other cuts were compiled in between."""
    path = tmp_path / "skips.hlo"
    path.write_text(SKIPS)
    tried = [3, 4, 2]  # numbers of stages; the first is the fastest

    def cuts(costs: object, sent: NDArray[np.float64], machine: object, cores: int) -> Cuts:
        places = np.linspace(0, len(sent) - 1, tried.pop(0) + 1).astype(int)
        return Cuts(tuple(map(int, places)), 0.0)

    monkeypatch.setattr(pipelined, "find_cuts", cuts)
    monkeypatch.setattr(pipelined._Cutter, "slowest", slowest_of(iter([1.0, 2.0, 3.0])))
    options = replace(MATMULT, dump_phases_to=str(tmp_path / "dumps"))
    result = compile_pipelined(str(path), "inf1", options, 5)
    assert len(result.stages) == 3
    found = sorted(p.name for p in (tmp_path / "dumps").iterdir() if p.name.startswith("stage"))
    assert found == ["stage00", "stage01", "stage02"]
    for number, stage in enumerate(result.stages):
        text = next((tmp_path / "dumps" / f"stage{number:02d}").glob("*hlo*")).read_text()
        whole = (f"tensor<{'x'.join(map(str, v.shape))}x" for v in variables(stage))
        assert all(shape in text for shape in whole)


def test_stage_that_comes_at_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled for its place: its name and the cores beside it are others."""
    path = tmp_path / "skips.hlo"
    path.write_text(SKIPS)
    tried = [(0, 4), (0, 2, 4)]  # the last stage is the same, as stage 1 and as stage 2

    def cuts(costs: object, sent: NDArray[np.float64], machine: object, cores: int) -> Cuts:
        return Cuts((*tried.pop(0), len(sent) - 1), 0.0)

    monkeypatch.setattr(pipelined, "find_cuts", cuts)
    monkeypatch.setattr(pipelined, "ROUNDS", 1)
    monkeypatch.setattr(pipelined._Cutter, "slowest", slowest_of(iter([2.0, 1.0])))
    result = compile_pipelined(str(path), "inf1", MATMULT, 3)
    names = [program.metadata["module"] for program in result.pipeline.stages]
    assert [name.rpartition(".")[2] for name in names] == ["stage0", "stage1", "stage2"]


def alike(layers: int) -> str:
    """Layers of the same shapes, each with weights of its own."""
    lines = [f"w{i} = f32[256,256] parameter({i + 1})" for i in range(layers)]
    for i in range(layers):
        lines += [
            f"d{i} = f32[128,256] dot({f't{i - 1}' if i else 'x'}, w{i}), "
            "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            f"t{i} = f32[128,256] tanh(d{i})",
        ]
    lines.append(f"ROOT r = (f32[128,256]) tuple(t{layers - 1})")
    body = "\n  ".join(["x = f32[128,256] parameter(0)", *lines])
    return f"HloModule alike\nENTRY main {{\n  {body}\n}}\n"


def test_equal_layers_are_compiled_once_for_their_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "alike.hlo"
    path.write_text(alike(6))
    rng = np.random.default_rng(7)
    arguments: Arrays = [rng.standard_normal((128, 256)).astype(np.float32)]
    arguments += [rng.standard_normal((256, 256)).astype(np.float32) / 16 for _ in range(6)]
    options = replace(MATMULT, weights={f"w{i}": arguments[i + 1] for i in range(6)})
    asked: list[tuple[int, str | None]] = []
    method = pipelined._Cutter.compiled

    def compiled(
        self: pipelined._Cutter,
        stage: Stage,
        number: int,
        dumps: str | None,
        tiling: str | None = None,
    ) -> CompiledResult:
        asked.append((number, tiling))
        return method(self, stage, number, dumps, tiling)

    def cuts(costs: object, sent: NDArray[np.float64], machine: object, cores: int) -> Cuts:
        return Cuts((*range(0, 16, 3), len(sent) - 1), 0.0)  # a product, tanh and a conversion

    monkeypatch.setattr(pipelined._Cutter, "compiled", compiled)
    monkeypatch.setattr(pipelined, "find_cuts", cuts)
    monkeypatch.setattr(pipelined, "ROUNDS", 0)
    result = check(path, options, arguments, 6)
    assert len(result.stages) == 6
    # The first stage reads the host's input, which all others read from the core before.
    assert len(asked) == 6 and sum(tiling is None for _, tiling in asked) < 3


def variables(stage: CompiledResult) -> list[Variable]:
    assert stage.program is not None
    return [v for v in stage.program.variables if v.kind in ("input", "output")]


def slowest_of(times: Iterator[float]) -> Callable[[pipelined._Cutter, Cuts], float]:
    """The method with other times: the stages are compiled as usual."""
    method = pipelined._Cutter.slowest

    def slowest(self: pipelined._Cutter, cuts: Cuts) -> float:
        method(self, cuts)
        return next(times)

    return slowest
