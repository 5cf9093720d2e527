"""Pipelines over cores: where programs are cut, what the stages compute, how requests move."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from neuronir.cli import neuron_cc, neuron_sim
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Instruction, Loop
from neuronir.dialects.nc.machine import get_machine, link_ns
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import load_npz, unpack
from neuronir.driver import CompileOptions, compile_file
from neuronir.driver.judge import judge_compile
from neuronir.driver.pipelined import PipelinedResult, compile_pipelined
from neuronir.driver.weights import entry_function
from neuronir.passes.hlo.stages.costs import bytes_of, live_bytes
from neuronir.passes.hlo.stages.cuts import find_cuts
from neuronir.passes.hlo.stages.graph import Graph
from neuronir.targets.encoding.disassembler import disassemble
from neuronir.targets.neff.pipeline import PipelineNeff, load_any
from neuronir.targets.neff.reader import read_neff
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


def check(path: Path, options: CompileOptions, arguments: Arrays, cores: int) -> PipelinedResult:
    """Compile for some cores; the interpreter agrees on the program that was not cut."""
    result = compile_pipelined(str(path), "inf1", options, cores)
    outputs = run_pipeline(result.pipeline, given(result, arguments), INF1).outputs
    whole = compile_file(str(path), "inf1", replace(options, compile_to="hlo"))
    assert judge_compile(whole.module, arguments, outputs).ok
    return result


@pytest.mark.parametrize("cores", [2, 5])
def test_bert_agrees_with_the_program_that_is_not_cut(cores: int) -> None:
    path, options, arguments = bert()
    result = check(path, options, arguments, cores)
    assert len(result.pipeline.stages) == cores
    # Only the first stage gets anything from the host: what others need of it is sent on.
    assert result.pipeline.sent[0] == 2 * 2 * 32 * 4
    one = time_pipeline(compile_pipelined(str(path), "inf1", options, 1).pipeline, INF1)
    many = time_pipeline(result.pipeline, INF1)
    assert many.period_ns < one.period_ns
    assert many.latency_ns > one.latency_ns


@pytest.mark.parametrize("cores", [2, 4])
@pytest.mark.parametrize("name", ["mlp", "lenet", "hf_resnet_tiny"])
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


def test_what_crosses_a_cut() -> None:
    """The bytes are those of the values that a unit before reads or makes and one behind reads."""
    path, options, _ = bert()
    module = compile_file(str(path), "inf1", replace(options, compile_to="hlo")).module
    graph = Graph.of(entry_function(module).body.block)
    sent = live_bytes(graph)
    for cut in range(0, len(graph.units) + 1, 7):
        values = {v for reads in graph.reads[cut:] for v in reads if graph.made[v] < cut}
        values |= {v for v in graph.last if graph.made[v] < cut <= graph.last[v]}
        assert sent[cut] == sum(bytes_of(v) for v in values)
    for number, op in enumerate(graph.units):
        assert isinstance(op, Operation)
        assert all(graph.made[v] < number for v in graph.reads[number])


@pytest.mark.parametrize("seed", range(8))
def test_cuts_are_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    units, cores = 9, int(rng.integers(1, 7))
    costs = rng.integers(1, 5000, (units, 4)).astype(float)
    costs[:, 3] *= 100  # weights, of which some stages have more than fit in SBUF
    sent = rng.integers(0, 400_000, units + 1).astype(float)
    found = find_cuts(costs, sent, INF1, cores)

    def bottleneck(bounds: tuple[int, ...]) -> float:
        times = [0.0]
        for stage, (low, high) in enumerate(zip(bounds, bounds[1:], strict=False)):
            pe, vector, dma, weights = costs[low:high].sum(axis=0)
            dma += (sent[low] if low else 0.0) / INF1.dma_gbps
            dma += (sent[high] if high < units else 0.0) / INF1.dma_gbps
            room = 0.75 * INF1.sbuf_usable_partition_bytes * INF1.partitions
            dma += weights if weights * INF1.dma_gbps > room else 0.0
            times += [max(pe, vector, dma), link_ns(sent[low], stage, INF1) if stage else 0.0]
        return max(times)

    every = (
        (0, *inner, units)
        for count in range(cores)
        for inner in combinations(range(1, units), count)
    )
    least = min(map(bottleneck, every))
    assert found.stages <= cores
    assert found.bottleneck_ns == pytest.approx(least)
    assert bottleneck(found.bounds) == pytest.approx(least)


def test_weights_that_stay_on_a_core_are_loaded_once() -> None:
    """The second run, without their transfers and in the memory of the first, gives the same."""
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
    assert "the network is cut into" in capsys.readouterr().err


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
