"""`neuronir.torch_neuron`: models on Inf1, with the rest on the host, against torch itself."""

import json
import logging
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import neuronir.torch_neuron as torch_neuron  # noqa: E402
from neuronir.dialects.support.errors import NeuronError  # noqa: E402
from neuronir.targets.neff.reader import parse_neff  # noqa: E402
from tests.torch.models import examples  # noqa: E402

BF16 = 4e-2
"""The tensor engine of Inf1 multiplies in bf16."""


def close(found: Any, expected: Any, tolerance: float = BF16) -> None:
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


class Mixed(nn.Module):  # type: ignore[misc]
    """Six operators: two before one that is not supported, one between, two after another."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        y = torch.special.erfcx(torch.tanh(self.first(x)))
        y = torch.special.erfcx(y * 0.1)
        return {"y": torch.relu(self.last(y)) + 1}


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "Neuron"]


def test_functions_and_methods(tmp_path: Path) -> None:
    x, y = torch.rand(3), torch.rand(3)
    traced = torch_neuron.trace(lambda x, y: 2 * x + y, (x, y))
    torch.jit.save(traced, tmp_path / "foo.pt")
    close(torch.jit.load(tmp_path / "foo.pt")(x, y), 2 * x + y)
    assert traced.report().startswith("inf1:")
    model, (image,) = examples()["mlp"]
    close(torch.neuron.trace(model.forward, [image], strict=False)(image), model(image))


def test_a_model_as_a_whole(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    model, (image,) = examples()["cnn"]
    with caplog.at_level(logging.INFO, logger="Neuron"):
        traced = torch_neuron.trace(
            model, image, compiler_workdir=str(tmp_path), compiler_args=["-O2"]
        )
    close(traced(image), model(image).detach())
    assert torch_neuron.report(traced)["machine"] == "inf1"
    told = lines(caplog)
    assert "The neuron partitioner created 1 sub-graphs" in told
    assert " => aten::convolution: 2" in told
    assert any("percent fused = 100.0%" in line for line in told)
    assert {"graph.neff", "report.json"} <= {p.name for p in tmp_path.iterdir()}


def test_parts_of_the_host(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    model, x = Mixed().eval(), torch.randn(2, 8)
    with caplog.at_level(logging.INFO, logger="Neuron"):
        traced = torch_neuron.trace(model, x, compiler_workdir=str(tmp_path))
    told = lines(caplog)
    (types,) = (line for line in told if "2 ops of 1 different types" in line)
    assert "aten::special_erfcx" in types
    # The multiplication alone is smaller than minimum_segment_size.
    assert any("before = 8, fused = 5, percent fused = 62.5%" in line for line in told)
    assert "The neuron partitioner created 2 sub-graphs" in told
    assert " => aten::special_erfcx: 2 [not supported]" in told
    assert " => aten::mul: 1 [supported]" in told
    torch.jit.save(traced, tmp_path / "model.pt")
    for one in (traced, torch.jit.load(tmp_path / "model.pt")):
        close(one(x)["y"], model(x)["y"].detach())
        assert one.report().count("inf1:") == 2
    assert len(list(tmp_path.glob("part*/graph.neff"))) == 2


RUN_WITHOUT_COMPILER = """
import sys, torch, neuronir.torch_neuron
from neuronir.driver import compiler

def fails(self):
    raise AssertionError("nothing is compiled in this process")

compiler._Compile.run = fails
model, (x, y) = torch.jit.load(sys.argv[1]), torch.load(sys.argv[2])
assert torch.equal(model(x)["y"], y)
print(model.report().count("inf1:"))
"""


def test_e07_round_trip(tmp_path: Path) -> None:
    """torch sends two parts to the compiler, and keeps their NEFFs in the model that it saves.

    Another process runs these, and the rest on the host, without the compiler.
    """
    model, x = Mixed().eval(), torch.randn(2, 8)
    traced = torch_neuron.trace(model, x)
    found = traced(x)["y"]
    close(found, model(x)["y"].detach())
    torch.jit.save(traced, tmp_path / "model.pt")
    torch.save((x, found), tmp_path / "data.pt")
    with zipfile.ZipFile(tmp_path / "model.pt") as file:
        members = [file.read(name) for name in file.namelist()]
    neffs = [b.numpy().tobytes() for name, b in traced.named_buffers() if name.endswith("neff")]
    assert [parse_neff(raw).program.machine for raw in neffs] == ["inf1", "inf1"]
    assert all(raw in members for raw in neffs)
    files = [str(tmp_path / name) for name in ("model.pt", "data.pt")]
    words = [sys.executable, "-c", RUN_WITHOUT_COMPILER, *files]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "2"), done.stderr


def test_thresholds(caplog: pytest.LogCaptureFixture) -> None:
    model, x = Mixed().eval(), torch.randn(2, 8)
    for options, parts in (
        ({"minimum_segment_size": 1}, 3),
        ({"minimum_segment_size": 3}, 1),
        ({"single_fusion_ratio_threshold": 0.3}, 1),  # the largest part has 3 of 8
        ({"single_fusion_ratio_threshold": 0.4}, 2),
        ({"single_fusion_ratio_threshold": 1.0}, 2),
    ):
        traced = torch_neuron.trace(model, x, **options)
        assert traced.report().count("inf1:") == parts, options
        close(traced(x)["y"], model(x)["y"].detach())
    with caplog.at_level(logging.INFO, logger="Neuron"):
        traced = torch_neuron.trace(model, x, minimum_segment_size=4)
    assert "No operator is placed on Neuron runtime; returning a CPU trace" in lines(caplog)
    close(traced(x)["y"], model(x)["y"].detach(), 1e-6)


def test_the_user_chooses() -> None:
    class Layer(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 1, 3)

        def forward(self, x: Any) -> Any:
            return self.conv(x) + 1

    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = Layer()

        def forward(self, x: Any) -> Any:
            return self.layer(x) * 100

    seen = []

    def chosen(node: Any) -> bool:
        seen.append(node.name)
        return "Layer" in node.name

    model, x = Model().eval(), torch.rand(1, 1, 3, 3)
    traced = torch_neuron.trace(model, x, subgraph_builder_function=chosen)
    close(traced(x), model(x).detach(), 1.0)
    assert seen == [
        "Model/Layer[layer]/Conv2d[conv]/aten::convolution",
        "Model/Layer[layer]/aten::add",
        "Model/aten::mul",
    ]
    assert hasattr(traced, "part1")  # the multiplication


def test_without_fallback() -> None:
    with pytest.raises(AttributeError, match="aten::special_erfcx"):
        torch_neuron.trace(Mixed(), torch.ones(2, 8), fallback=False)
    model, (x,) = examples()["mlp"]
    close(torch_neuron.trace(model, x, fallback=False)(x), model(x))


def test_what_does_not_compile_runs_on_the_host(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Operators that compile alone may not compile together."""
    from neuronir.torch.partitioning import neuron_part as real

    def fails_at_first(program: Any, part: Any, *rest: Any) -> Any:
        if refused is None or any(n.name in refused for n in part.nodes):
            raise NeuronError("NCC_X", "it does not fit")
        return real(program, part, *rest)

    refused: tuple[str, ...] | None = ("tanh",)
    monkeypatch.setattr("neuronir.torch_neuron.tracing.neuron_part", fails_at_first)
    model, x = Mixed().eval(), torch.randn(2, 8)
    with caplog.at_level(logging.INFO, logger="Neuron"):
        traced = torch_neuron.trace(model, x)
    close(traced(x)["y"], model(x)["y"].detach())
    assert any("falling back to native" in line and "not fit" in line for line in lines(caplog))
    assert any("compiled 1 sub-graphs, Total fused subgraphs = 2" in li for li in lines(caplog))
    refused = None
    with pytest.raises(RuntimeError, match="No operations were successfully partitioned"):
        torch_neuron.trace(model, x)


def test_batches_weights_and_halves() -> None:
    model, (x,) = examples()["mlp"]
    more = torch.randn(7, 16)
    close(torch_neuron.trace(model, x, dynamic_batch_size=True)(more), model(more).detach())
    traced = torch_neuron.trace(model, x, separate_weights=True)
    close(traced(x), model(x).detach())
    assert sum(w.numel() for w in traced.weights.parameters()) == sum(
        w.numel() for w in model.parameters()
    )
    half = [torch_neuron.Optimization.FLOAT32_TO_FLOAT16]
    traced = torch_neuron.trace(model, x, optimizations=half)
    for given in (x, x.half()):
        found = traced(given)
        assert found.dtype == torch.float16
        close(found.float(), model(x).detach())
    assert '"float16"' in traced.neuron.interface
    with pytest.raises(RuntimeError, match="NIR_TORCH007.*must be float32 or float16, is float64"):
        traced(x.double())
    mixed, z = Mixed().eval(), torch.randn(2, 8)
    found = torch_neuron.trace(mixed, z, optimizations=half)(z)["y"]
    close(found.float(), mixed(z)["y"].detach())
    parallel = torch.neuron.DataParallel(torch_neuron.trace(model, x))
    close(parallel(more), model(more).detach())


def test_another_process_with_a_time_limit(tmp_path: Path) -> None:
    """The process gives the same bytes as a compile in this one."""
    model, (x,) = examples()["mlp"]
    one = torch_neuron.trace(model, x)
    other = torch_neuron.trace(model, x, compiler_timeout=300, compiler_workdir=str(tmp_path))
    assert bytes(one.neuron.neff.numpy().data) == bytes(other.neuron.neff.numpy().data)
    assert json.loads((tmp_path / "report.json").read_text())["machine"] == "inf1"
    assert (tmp_path / "phases" / "1-hlo.mlir").exists()
    with pytest.raises(subprocess.TimeoutExpired):
        torch_neuron.trace(model, x, compiler_timeout=0.01)


def test_analysis(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="Neuron"):
        found = torch_neuron.analyze_model(Mixed(), example_inputs=[torch.ones(2, 8)])
    assert found["percent"] == 75.0
    assert found["unsupported"] == {"aten::special_erfcx": 2}
    assert found["supported"]["aten::linear"] == 2
    told = lines(caplog)
    start = told.index("The following operations are not supported in torch-neuron for this model:")
    assert told[start + 1 :] == [
        "aten::special_erfcx",
        "75.00% of arithmetic operations (6 of 8) are supported",
    ]
    names = torch_neuron.get_supported_operations()
    assert names == sorted(set(names)) and {"aten::relu", "aten::max"} <= set(names)


def test_arguments_that_make_no_sense() -> None:
    model, (x,) = examples()["mlp"]
    for options, error, text in (
        ({"minimum_segment_size": 0}, ValueError, "at least 1, is 0"),
        ({"single_fusion_ratio_threshold": 2}, ValueError, "between 0 and 1"),
        ({"compiler_timeout": 0}, ValueError, "positive"),
        ({"optimizations": ["half"]}, TypeError, "'half' is not an Optimization"),
        ({"no_such_option": 1}, TypeError, "no_such_option"),
        ({"compiler_args": "--no-such-option"}, NeuronError, "compiler_args"),
        ({"compiler_args": "--target trn1"}, NeuronError, "compiler_args"),
        ({"compiler_args": ["--neuroncore-pipeline-cores", "4"]}, NeuronError, "cores 4 is not"),
    ):
        with pytest.raises(error, match=text):
            torch_neuron.trace(model, x, **options)
    whole: tuple[dict[str, Any], ...] = ({"dynamic_batch_size": True}, {"separate_weights": True})
    for options in whole:
        with pytest.raises(ValueError, match="on the core as a whole"):
            torch_neuron.trace(Mixed(), torch.ones(2, 8), **options)


def test_packed_sequences() -> None:
    """The example of AWS's guide: lengths that are not sorted, as an input."""
    from torch.nn.utils import rnn

    class Network(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(input_size=3, hidden_size=7)

        def forward(self, inputs: Any, lengths: Any) -> Any:
            packed = rnn.pack_padded_sequence(inputs, lengths, enforce_sorted=False)
            output, (ht, ct) = self.lstm(packed)
            padded, _ = rnn.pad_packed_sequence(output, total_length=5)
            return padded, ht, ct

    torch.manual_seed(0)
    model, inputs = Network().eval(), torch.rand(5, 2, 3)
    traced = torch_neuron.trace(model, (inputs, torch.tensor([2, 5])))
    for lengths in ([2, 5], [4, 1], [3, 3]):
        given = (inputs, torch.tensor(lengths))
        for ours, theirs in zip(traced(*given), model(*given), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=2e-2, atol=1e-2)
