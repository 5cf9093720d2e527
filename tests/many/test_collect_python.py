"""Models that scripts compile through the Python interfaces: kept in the cache, and collected."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neuronir
from neuronir.cache import FOLDER_VARIABLE
from neuronir.cache_graphs import COLLECT
from neuronir.cli import neuron_cache, neuron_parallel_compile
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.job import Job

MODEL = """HloModule {name}
ENTRY e {{
  x = f32[8,8] parameter(0)
  w = f32[8,8] constant({{{rows}}})
  d = f32[8,8] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT r = (f32[8,8], s32[3]) tuple(d, s)
}}
""".replace("  d =", "  s = s32[3] constant({{1, 2, 3}})\n  d =")
COUNTED = """
import neuronir.driver.job as job
runs = [0]
compile = job.Job.compile
def counted(self):
    runs[0] += 1
    return compile(self)
job.Job.compile = counted
"""
JAX = (
    COUNTED
    + """
import sys, jax, numpy as np, neuronir.jax
@neuronir.jax.jit(auto_cast="none")
def layer(x, w):
    return {"y": jax.nn.gelu(x @ w), "s": x.sum()}
x, w = np.ones((8, 16), np.float32), np.eye(16, dtype=np.float32)
found = layer(x, w)
second = neuronir.compile(lambda a: a * 2, example_arguments=(x,))(x)["out0"]
print(found["y"].shape, float(found["s"]), float(second[0, 0]), runs[0])
"""
)
TORCH = (
    COUNTED
    + """
import torch, neuronir.torch as torch_neuronx
torch.manual_seed(0)
model, x = torch.nn.Linear(8, 4).eval(), torch.ones(2, 8)
traced = torch_neuronx.trace(model, x, compiler_args="--auto-cast none")
torch.jit.save(traced, "model.pt")
compiled = torch.compile(torch.nn.Linear(8, 4), backend="neuronir", dynamic=False)
loss = compiled(x).sum()
loss.backward()
same = bool((traced(x) - model(x)).abs().max() < 1e-5)
print(same, torch.jit.load("model.pt")(x).shape[0], runs[0])
"""
)


def model(seed: int, name: str = "m") -> str:
    numbers = np.random.default_rng(seed).integers(0, 9, (8, 8))
    return MODEL.format(
        name=name, rows=", ".join("{" + ", ".join(map(str, r)) + "}" for r in numbers)
    )


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The names of the jobs that are compiled, with a cache in the folder `cache`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(FOLDER_VARIABLE, "cache")
    found: list[str] = []
    plain = Job.compile

    def compile(job: Job) -> object:
        found.append(job.options.tiling)
        return plain(job)

    monkeypatch.setattr(Job, "compile", compile)
    return found


def test_python_uses_the_cache(compiles: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    x = np.ones((8, 8), np.float32)
    first = neuronir.compile(model(0))(x)
    again = neuronir.compile(model(0))(x)
    assert len(compiles) == 1
    assert all(np.array_equal(first[name], again[name]) for name in first)
    for more in (
        {"auto_cast": "none"},
        {"optlevel": 1},
        {"target": "inf1"},
        {"cache_dir": "other"},
    ):
        neuronir.compile(model(0), **more)
    neuronir.compile(model(1))
    assert len(compiles) == 6
    neuronir.compile(model(0), cache_dir="")
    assert len(compiles) == 7
    assert neuron_cache.main(["list", "--cache-dir", "cache"]) == 0
    assert "5 entries" in capsys.readouterr().out


def test_constants_are_part_of_the_key(compiles: list[str]) -> None:
    """Also elements of a large constant that its short hash does not read."""
    text = """HloModule m
ENTRY e {
  x = f32[1,1024] parameter(0)
  w = f32[1024,512] parameter(1)
  ROOT d = f32[1,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
    weights = np.zeros((1024, 512), np.float32)
    x = np.ones((1, 1024), np.float32)
    for number in (0.0, 1.0):
        weights[7, 100] = number
        found = neuronir.compile(text, weights={"w": weights})(x)["out0"]
        assert found[0, 100] == number
    assert len(compiles) == 2


def test_damaged_entry_is_not_used(compiles: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    neuronir.compile(model(0))
    (neff,) = Path("cache").glob("*/MODULE_*/model.neff")
    neff.write_bytes(neff.read_bytes()[:-1] + b"x")
    neuronir.compile(model(0))
    assert len(compiles) == 2 and "is not used" in capsys.readouterr().err
    neuronir.compile(model(0))
    assert len(compiles) == 2


def test_failure_is_remembered(compiles: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    wrong = model(0).replace("f32", "f64")
    errors = []
    for _ in range(2):
        with pytest.raises(NeuronError) as caught:
            neuronir.compile(wrong)
        errors.append(vars(caught.value))
    assert errors[0] == errors[1] and len(compiles) == 1
    assert "Got a cached failed neff" in capsys.readouterr().err


def test_collected_models_are_compiled_later(
    compiles: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While models are collected, results are zeros of the right shapes and types."""
    x = np.ones((8, 8), np.float32)
    monkeypatch.setenv(COLLECT, "1")
    for seed in (0, 1, 0):
        found = neuronir.compile(model(seed))(x)
        assert [(v.shape, str(v.dtype)) for v in found.values()] == [
            ((8, 8), "float32"),
            ((3,), "int32"),
        ]
        assert not any(v.any() for v in found.values())
    assert capsys.readouterr().err.count("No compilation was done.") == 3
    assert set(compiles) == {"never"}  # placeholders
    with pytest.raises(NeuronError, match="NIR_MANY005.*--no-cache"):
        neuronir.compile(model(2), cache_dir="")
    monkeypatch.delenv(COLLECT)
    assert neuron_parallel_compile.main(["--jobs", "1", "--command", "compile"]) == 0
    assert "Total graphs: 2\nTotal successful compilations: 2\n" in capsys.readouterr().out
    compiles.clear()
    found = neuronir.compile(model(1))(x)
    assert not compiles and found["out1"].tolist() == [1, 2, 3]
    assert neuron_parallel_compile.main(["--command", "compile"]) == 0
    assert capsys.readouterr().out == "Total graphs: 0\n"


def test_failed_graph_stays(
    compiles: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(COLLECT, "1")
    neuronir.compile(model(0))
    damaged = next(iter(Path("cache").glob("*/GRAPH_*"))) / "files" / "job" / "module.mlir"
    damaged.write_text("builtin.module {\n  nonsense\n}\n")
    monkeypatch.delenv(COLLECT)
    assert neuron_parallel_compile.main(["--jobs", "1", "--command", "compile"]) == 1
    assert "Total failed compilations: 1" in capsys.readouterr().out
    assert list(Path("cache").glob("*/GRAPH_*"))


def test_passes_of_the_user(compiles: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """They run, are part of the key, and are collected with the model."""
    file = Path(__file__).parents[2] / "examples" / "hard_tanh.py"
    text = """HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  ROOT t = f32[8] tanh(x)
}
"""
    options = {"load": [file], "pass_after": {"parsed": "approximate-tanh"}}
    x = np.full(8, 0.5, np.float32)

    def run(**more: Any) -> float:
        return float(neuronir.compile(text, **more)(x)["out0"][0])

    assert run() == pytest.approx(np.tanh(0.5), 1e-3)
    assert run(**options) == 0.5 and len(compiles) == 2
    assert run(**options) == 0.5 and len(compiles) == 2
    with pytest.raises(NeuronError, match="NIR_DRV001"):
        run(pass_after={"hlp": "approximate-tanh"})
    monkeypatch.setenv(FOLDER_VARIABLE, "second")
    monkeypatch.setenv(COLLECT, "1")
    assert run(**options) == 0.0
    monkeypatch.delenv(COLLECT)
    assert neuron_parallel_compile.main(["--jobs", "1", "--command", "compile"]) == 0
    compiles.clear()
    assert run(**options) == 0.5 and not compiles


def test_analyze(compiles: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("script.py").write_text(f"import neuronir\nneuronir.compile({model(0)!r})\n")
    words = ["--jobs", "1", "--command", "analyze", sys.executable, "script.py"]
    assert neuron_parallel_compile.main(words) == 0
    assert "1 of 1 models supported" in capsys.readouterr().out
    models = json.loads(Path("model_analysis_result/result.json").read_text())["models"]
    (found,) = models.values()
    assert {o["operator"] for o in found["operators"]} >= {"dot"}


def of_script(text: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Write a script; return a function that runs a command with it."""
    Path("script.py").write_text(text)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [*words, sys.executable, "script.py"]
        return subprocess.run(command, capture_output=True, text=True, check=True)

    return run


PARALLEL = (sys.executable, "-m", "neuronir.cli.neuron_parallel_compile", "--jobs", "1")


def test_script_with_jax(compiles: list[str]) -> None:
    run = of_script(JAX)
    collected = run(*PARALLEL)
    assert "(8, 16) 0.0 0.0 2\n" in collected.stdout  # zeros, of two placeholders
    assert "Total successful compilations: 2\n" in collected.stdout
    assert run().stdout == "(8, 16) 128.0 2.0 0\n"


@pytest.mark.slow
def test_script_with_torch(compiles: list[str]) -> None:
    pytest.importorskip("torch")
    run = of_script(TORCH)
    collected = run(*PARALLEL)
    assert "False 2 3\n" in collected.stdout
    assert "Total successful compilations: 3\n" in collected.stdout  # with the backward graph
    assert run().stdout == "True 2 0\n"
