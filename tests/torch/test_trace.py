"""`neuronir.torch.trace`: what it gives, keeps, saves and refuses, against torch itself."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import neuronir.torch as torch_neuronx  # noqa: E402
from neuronir.dialects.support.errors import NeuronError  # noqa: E402
from tests.torch.models import Mlp, examples  # noqa: E402

EXACT = ["--auto-cast", "none"]


def close(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def traced() -> Any:
    model, inputs = examples()["mlp"]
    return torch_neuronx.trace(model, inputs[0], compiler_args=EXACT)


def test_a_traced_model_is_a_script_module(traced: Any) -> None:
    model, (x,) = examples()["mlp"]
    assert isinstance(traced, torch.jit.ScriptModule)
    close(traced(x), model(x))
    assert torch.ops.neuron.forward is not None
    assert traced.report().startswith("trn1:")
    assert torch_neuronx.report(traced)["total_time_us"] > 0
    table = torch_neuronx.profile(traced)
    assert "up" in table and "down" in table


def test_it_is_saved_and_loaded_by_another_process(traced: Any, tmp_path: Path) -> None:
    model, (x,) = examples()["mlp"]
    torch.jit.save(traced, tmp_path / "model.pt")
    torch.save((x, model(x).detach()), tmp_path / "data.pt")
    script = (
        "import sys, torch, neuronir.torch\n"
        "model = torch.jit.load(sys.argv[1]); x, y = torch.load(sys.argv[2])\n"
        "assert (model(x) - y).abs().max() < 1e-4\n"
        "print('cores', model.neuron.core, torch.jit.load(sys.argv[1]).neuron.core)\n"
    )
    words = [sys.executable, "-c", script, str(tmp_path / "model.pt"), str(tmp_path / "data.pt")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["cores", "0", "1"]  # one core after the other


def test_other_shapes_and_types_are_refused(traced: Any) -> None:
    for wrong in (torch.zeros(3, 16), torch.zeros(4, 16, dtype=torch.float64), torch.zeros(4)):
        with pytest.raises(RuntimeError, match="NIR_TORCH007.*must be float32 \\[4, 16\\]"):
            traced(wrong)


def test_structures_and_state() -> None:
    class Counting(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(2))

        def forward(self, x: Any, more: Any) -> Any:
            self.seen.add_(x)
            return {"sum": self.seen + more["a"], "index": more["i"] * 2}

    x, more = torch.tensor([1.0, 2.0]), {"a": torch.ones(2), "i": torch.arange(3)}
    traced = torch_neuronx.trace(Counting(), (x, more), compiler_args=EXACT)
    model = Counting()
    for _ in range(3):
        found, expected = traced(x, more), model(x, more)
        close(found["sum"], expected["sum"])
        assert torch.equal(found["index"], expected["index"])
    close(traced.states.s0, model.seen)


def test_aliased_results_stay_in_the_model() -> None:
    class Cache(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cache = nn.Parameter(torch.zeros(3), requires_grad=False)

        def forward(self, x: Any) -> Any:
            new = self.cache * 0.5 + x
            return x + 1, new

    model, x = Cache(), torch.ones(3)
    traced = torch_neuronx.trace(model, x, input_output_aliases={model.cache: 1})
    for want in (1.0, 1.5):
        (first,) = traced(x)
        close(first, x + 1)
        close(traced.states.s0, torch.full((3,), want))


def test_weights_beside_the_neff() -> None:
    torch.manual_seed(1)
    first, second, x = Mlp().eval(), Mlp().eval(), torch.randn(2, 16)
    traced = torch_neuronx.trace(first, x, compiler_args=EXACT, inline_weights_to_neff=False)
    close(traced(x), first(x))
    torch_neuronx.move_trace_to_device(traced, 0)
    torch_neuronx.replace_weights(traced, second)
    close(traced(x), second(x))
    torch_neuronx.replace_weights(traced, first.state_dict())
    close(traced(x), first(x))
    with pytest.raises(NeuronError, match="'up.weight' is missing"):
        torch_neuronx.replace_weights(traced, {})
    with pytest.raises(NeuronError, match="'down.bias' must be"):
        torch_neuronx.replace_weights(traced, {**first.state_dict(), "down.bias": x})


def test_replacing_weights_of_a_model_without_any_warns(traced: Any) -> None:
    with pytest.warns(UserWarning, match="part of its NEFF"):
        torch_neuronx.replace_weights(traced, Mlp())


def test_a_batch_of_any_size() -> None:
    model, (x,) = examples()["mlp"]
    traced = torch_neuronx.dynamic_batch(torch_neuronx.trace(model, x, compiler_args=EXACT))
    for size in (1, 4, 9):
        more = torch.randn(size, 16)
        close(traced(more), model(more))
    with pytest.raises(RuntimeError, match="ValueError"):
        traced(torch.randn(4, 15))
    parallel = torch_neuronx.DataParallel(traced)
    more = torch.randn(11, 16)
    close(parallel(more), model(more))
    assert parallel.num_workers == 4


def test_no_common_batch() -> None:
    traced = torch_neuronx.trace(lambda x, y: x + y, (torch.ones(2, 3), torch.ones(3)))
    with pytest.raises(ValueError, match="dimension 0"):
        torch_neuronx.dynamic_batch(traced)


def test_cores(traced: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NEURON_RT_NUM_CORES", "4")
    torch_neuronx.set_neuron_cores(traced, 2, 2)
    assert (traced.neuron.core, traced.neuron.cores) == (2, 2)
    torch_neuronx.set_multicore(traced)
    assert (traced.neuron.core, traced.neuron.cores) == (0, 4)
    with pytest.raises(ValueError, match="nc_count"):
        torch_neuronx.set_neuron_cores(traced, 2, 3)
    with pytest.raises(RuntimeError, match="no NeuronCore 7"):
        torch_neuronx.set_neuron_cores(traced, 7)
    torch_neuronx.lazy_load(traced)
    torch.jit.save(traced, tmp_path / "model.pt")
    torch_neuronx.lazy_load(traced, False)
    with torch_neuronx.neuron_cores_context(3, 1):
        found = torch.jit.load(tmp_path / "model.pt")
    assert (found.neuron.core, found.neuron.lazy) == (3, True)
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "0-x")
    with pytest.raises(NeuronError, match="NIR_TORCH005"):
        torch_neuronx.set_multicore(traced)


def test_options(tmp_path: Path) -> None:
    x = torch.ones(2, 2)
    torch_neuronx.trace(nn.ReLU(), x, compiler_workdir=str(tmp_path), compiler_args="-O1")
    kept = {p.name for p in tmp_path.iterdir()}
    assert {"graph.neff", "graph.txt", "phases", "report.json"} <= kept
    with pytest.raises(NeuronError, match="needs a target"):
        torch_neuronx.trace(nn.ReLU(), x, cpu_backend=True)
    with pytest.raises(NeuronError, match="compiler_args"):
        torch_neuronx.trace(nn.ReLU(), x, compiler_args="--no-such-option")
    for wrong in ("--compile-to hlo", "--neuroncore-pipeline-cores 2", "--weights w.npz"):
        with pytest.raises(NeuronError, match=f"NIR_ARG002.*{wrong} is not supported"):
            torch_neuronx.trace(nn.ReLU(), x, compiler_args=wrong)
    with pytest.warns(DeprecationWarning, match="keyword only.*compiler_workdir"):
        torch_neuronx.trace(nn.ReLU(), x, str(tmp_path / "again"))
    assert (tmp_path / "again" / "graph.neff").exists()
    with pytest.raises(NeuronError, match="example input 1 is of type int"):
        torch_neuronx.trace(lambda x, n: x + n, (x, 3))


@pytest.mark.slow
@pytest.mark.parametrize("name", ("cnn", "bert", "gpt", "lstm"))
def test_models(name: str) -> None:
    model, inputs = examples()[name]
    with torch.no_grad():
        expected = model(*inputs)
    close(torch_neuronx.trace(model, inputs, compiler_args=EXACT)(*inputs), expected, 5e-5)
