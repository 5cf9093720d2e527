"""`analyze` and `PartitionerConfig`: what the compiler takes, and what runs on the host."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import neuronir.torch as torch_neuronx  # noqa: E402
from neuronir.dialects.support.errors import NeuronError  # noqa: E402
from neuronir.torch import PartitionerConfig  # noqa: E402


class Mixed(nn.Module):  # type: ignore[misc]
    """Two operators that are not supported, with others between them and beside them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Any, z: Any) -> Any:
        y = torch.relu(torch.special.erfcx(self.linear(x) * 0.1))
        return {
            "a": torch.special.bessel_j1(self.linear(y) + 5) + 1,
            "b": torch.topk(y, 2)[1],
            "c": z * 2,
        }


INPUTS = (torch.ones(2, 8), torch.arange(3.0))


def trace(**options: Any) -> Any:
    config = PartitionerConfig(trace_kwargs={"compiler_args": "--auto-cast none"}, **options)
    return torch_neuronx.trace(Mixed().eval(), INPUTS, partitioner_config=config)


def test_analyze(tmp_path: Path) -> None:
    found = torch_neuronx.analyze(Mixed(), INPUTS, compiler_workdir=str(tmp_path), max_workers=1)
    assert json.loads(json.dumps(found)) == found
    assert found["support_percentage"] == "80.00%"
    assert found["supported_operators"]["aten"]["aten::linear"] == 2
    bad = {row["kind"]: row for row in found["unsupported_operators"]}
    assert set(bad) == {"aten::special_erfcx", "aten::special_bessel_j1"}
    assert bad["aten::special_erfcx"]["failureAt"] == "Lowering to HLO"
    assert Path(__file__).name in bad["aten::special_erfcx"]["call"]
    assert "special_bessel_j1.default(" in bad["aten::special_bessel_j1"]["opGraph"]
    programs = list((tmp_path / "operators").iterdir())
    assert 0 < len(programs) < 8  # those of one configuration are asked once
    ignored = {"aten::special_erfcx", "aten::special_bessel_j1"}
    all_good = torch_neuronx.analyze(Mixed(), INPUTS, str(tmp_path), ignored, 1, cleanup=True)
    assert all_good["support_percentage"] == "100.00%"
    assert not tmp_path.exists()


def test_an_operator_that_the_compiler_refuses() -> None:
    """It is imported, but no program is made of it."""
    found = torch_neuronx.analyze(lambda x: x * 2, torch.ones(3, dtype=torch.float64))
    assert found["support_percentage"] == "0.00%"
    assert found["unsupported_operators"][0]["failureAt"] == "neuronx-cc"


def test_checks_of_types_are_no_operators() -> None:
    """A conversion is exported with a check of the type that it converts from."""
    found = torch_neuronx.analyze(lambda x: x.to(torch.float16).to(torch.float32), torch.ones(3))
    assert found["support_percentage"] == "100.00%"
    assert sum(found["supported_operators"]["aten"].values()) == 2


def test_parts_of_the_host(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="Neuron"):
        traced = trace()
    assert "aten::special_erfcx (special_erfcx) runs on the host" in caplog.text
    assert "part 4: 1 operators on the core" in caplog.text
    torch.jit.save(traced, tmp_path / "model.pt")
    expected = Mixed().eval()(*INPUTS)
    for model in (traced, torch.jit.load(tmp_path / "model.pt")):
        for name, value in model(*INPUTS).items():
            torch.testing.assert_close(value, expected[name], rtol=2e-5, atol=2e-5)
        assert model.report().count("trn1:") == 3
    with pytest.raises(ValueError, match="partitioned"):
        torch_neuronx.dynamic_batch(traced)


def test_operators_that_are_to_run_on_the_host(caplog: pytest.LogCaptureFixture) -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)).eval(), torch.ones(2, 4)
    config = PartitionerConfig(ops_to_partition={"aten::relu"})
    with caplog.at_level(logging.INFO, logger="Neuron"):
        traced = torch_neuronx.trace(
            model, x, compiler_args="--auto-cast none", partitioner_config=config
        )
    torch.testing.assert_close(traced(x), model(x), rtol=2e-5, atol=2e-5)
    assert "2 of 3 operators are supported" in caplog.text


def test_limits() -> None:
    for options, text in (
        ({"model_support_percentage_threshold": 0.9}, "80.00% of the operators"),
        ({"min_subgraph_size": 5}, "min_subgraph_size is 5"),
        ({"max_subgraph_count": 1}, "3 parts run on the core"),
    ):
        with pytest.raises(ValueError, match=text):
            trace(**options)
    for wrong in (
        {"model_support_percentage_threshold": 2},
        {"min_subgraph_size": 0},
        {"ops_to_partition": {"relu"}},
        {"analyze_parameters": {"cleanup": True}},
    ):
        with pytest.raises(ValueError):
            PartitionerConfig(**wrong)


def test_state_cannot_be_partitioned() -> None:
    class Counting(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(2))

        def forward(self, x: Any) -> Any:
            self.seen.add_(x)
            return self.seen * 2

    with pytest.raises(NeuronError, match="NIR_TORCH011"):
        torch_neuronx.trace(Counting(), torch.ones(2), partitioner_config=PartitionerConfig())
