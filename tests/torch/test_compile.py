"""`torch.compile(backend="neuronir")` and training steps, against torch eager."""

import copy
import gc
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.func import functional_call, grad_and_value  # noqa: E402

import neuronir.torch as torch_neuronx  # noqa: E402
from neuronir.dialects.support.errors import NeuronError  # noqa: E402
from neuronir.torch import compiled_graphs  # noqa: E402
from tests.torch.models import Mlp, examples  # noqa: E402

EXACT = {"compiler_args": "--auto-cast none"}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    compiled_graphs(clear=True)
    yield
    torch._dynamo.reset()


def close(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def compiled(model: Any, **options: Any) -> Any:
    return torch.compile(model, backend="neuronir", options={**EXACT, **options}, dynamic=False)


def on_core() -> list[str]:
    graphs = compiled_graphs()
    assert all(g.reason is None and g.runs for g in graphs), graphs
    return [g.kind for g in graphs]


def test_inference_of_a_graph() -> None:
    model, (x,) = examples()["mlp"]
    with torch.no_grad():
        close(compiled(model)(x), model(x))
    assert on_core() == ["inference"]
    assert compiled_graphs()[0].report()["machine"] == "trn1"


def test_it_is_found_without_an_import() -> None:
    script = (
        "import torch\n"
        "f = torch.compile(lambda x: x * 2 + 1, backend='neuronir', dynamic=False)\n"
        "assert torch.equal(f(torch.ones(3)), torch.full((3,), 3.0))\n"
        "import neuronir.torch\n"
        "print([g.kind for g in neuronir.torch.compiled_graphs()])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "['inference']", done.stderr


def test_steps_of_training() -> None:
    """Forward and backward of the model, and the optimiser with its state in place."""
    torch.manual_seed(0)
    model = Mlp()
    other = copy.deepcopy(model)
    x, y = torch.randn(4, 16), torch.randn(4, 8)
    run = compiled(model)
    optimisers = [torch.optim.AdamW(m.parameters(), lr=0.01) for m in (model, other)]
    update = compiled(lambda: optimisers[0].step())
    for _ in range(3):
        losses = []
        for one, optimiser, step in (
            (run, optimisers[0], update),
            (other, optimisers[1], optimisers[1].step),
        ):
            optimiser.zero_grad()
            loss = (one(x) - y).square().mean()
            loss.backward()
            step()
            losses.append(loss.detach())
        close(*losses)
    for found, expected in zip(model.parameters(), other.parameters(), strict=True):
        close(found, expected)
    assert on_core()[:2] == ["forward", "backward"] and len(on_core()) > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ("cnn", "gpt"))
def test_gradients_of_models(name: str) -> None:
    model, inputs = examples()[name]
    model.train()
    other = copy.deepcopy(model)
    for one in (compiled(model), other):
        one(*inputs).square().mean().backward()
    for (label, found), expected in zip(model.named_parameters(), other.parameters(), strict=True):
        assert (found.grad - expected.grad).abs().max() < 2e-5, label
    if name == "cnn":  # the statistics of batch norm
        close(model.features[1].running_mean, other.features[1].running_mean)
    assert on_core() == ["forward", "backward"]


def test_a_whole_step_by_torch_func() -> None:
    """Forward, backward and optimiser in one NEFF."""
    torch.manual_seed(0)
    model, x, y = Mlp(), torch.randn(4, 16), torch.randn(4, 8)

    def loss(weights: Any, x: Any, y: Any) -> Any:
        return (functional_call(model, weights, (x,)) - y).square().mean()

    def step(weights: Any, moments: Any, x: Any, y: Any) -> Any:
        gradients, value = grad_and_value(loss)(weights, x, y)
        moments = {k: 0.9 * moments[k] + g for k, g in gradients.items()}
        return {k: w - 0.1 * moments[k] for k, w in weights.items()}, moments, value

    weights = {k: v.detach().clone() for k, v in model.named_parameters()}
    moments = {k: torch.zeros_like(v) for k, v in weights.items()}
    traced = torch_neuronx.trace(step, (weights, moments, x, y), compiler_args="--auto-cast none")
    found, expected = (weights, moments), (weights, moments)
    for _ in range(3):
        *found, ours = traced(*found, x, y)
        *expected, theirs = step(*expected, x, y)
        close(ours, theirs)
    for k in weights:
        close(found[0][k], expected[0][k])
    assert isinstance(traced, torch.jit.ScriptModule)


def test_a_branch_on_data_is_refused_in_functions_too() -> None:
    with pytest.raises(NeuronError, match="NIR_TORCH001"):
        torch_neuronx.trace(lambda x: x + 1 if x.sum() > 0 else x, torch.ones(3))


def test_graphs_that_do_not_compile(caplog: pytest.LogCaptureFixture) -> None:
    class Mixed(nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            y = x * 2 + 1
            torch._dynamo.graph_break()
            return torch.special.erfcx(y)

    x = torch.ones(3)
    with torch.no_grad(), caplog.at_level(logging.INFO, logger="Neuron"):
        close(compiled(Mixed())(x), Mixed()(x))
    first, second = compiled_graphs()
    assert (first.reason, first.runs) == (None, 1)
    assert second.reason is not None and "erfcx" in second.reason
    assert Path(__file__).name in second.reason  # the line of the model
    assert "runs in torch: 1 operator is not supported" in caplog.text
    with pytest.raises(ValueError, match="runs in torch"):
        second.report()
    torch._dynamo.reset()
    with torch.no_grad(), pytest.raises(Exception, match="special_erfcx"):
        compiled(Mixed(), fallback=False)(x)


def test_what_is_given_back_as_it_is() -> None:
    def model(x: Any, y: Any) -> Any:
        return x, y + 1, None, y + 1

    x, y = torch.ones(2), torch.arange(3)
    found = compiled(model)(x, y)
    assert found[0] is x and found[2] is None
    assert torch.equal(found[1], y + 1) and found[1].dtype == torch.int64


def test_other_shapes_are_other_graphs(tmp_path: Path) -> None:
    function = compiled(lambda x: x.sum() * 2, compiler_workdir=str(tmp_path))
    for size in (2, 5):
        close(function(torch.ones(size)), torch.tensor(2.0 * size))
    assert on_core() == ["inference"] * 2
    assert len(list(tmp_path.glob("graph*/graph.neff"))) == 2
    dynamic = torch.compile(lambda x: x.sum() * 3, backend="neuronir", dynamic=True)
    close(dynamic(torch.ones(7)), torch.tensor(21.0))
    assert "not static" in str(compiled_graphs()[-1].reason)


class Checked(nn.Module):  # type: ignore[misc]
    """A model with an assertion on its data, and perhaps an operator that is not supported."""

    def __init__(self, supported: bool) -> None:
        super().__init__()
        self.supported = supported

    def forward(self, x: Any) -> Any:
        torch._assert_async((x > 0).all(), "x must be positive")
        return x * 2 if self.supported else torch.special.erfcx(x)


def test_assertions_stay_in_graphs_that_run_in_torch() -> None:
    good, bad = torch.ones(3), -torch.ones(3)
    with torch.no_grad():
        function = compiled(Checked(supported=False))
        close(function(good), torch.special.erfcx(good))
        with pytest.raises(RuntimeError, match="x must be positive"):
            function(bad)
        assert compiled_graphs()[0].reason is not None
        close(compiled(Checked(supported=True))(good), good * 2)
    assert [g.kind for g in compiled_graphs() if g.reason is None] == ["inference"]


def test_graphs_are_forgotten_with_their_functions() -> None:
    def run() -> None:
        function = compiled(lambda x: x * 2)
        function(torch.ones(2))
        assert len(compiled_graphs()) == 1

    run()
    torch._dynamo.reset()
    gc.collect()
    assert compiled_graphs() == []


def test_a_mode_is_refused() -> None:
    function = torch.compile(lambda x: x * 2, backend="neuronir", mode="max-autotune")
    with pytest.raises(Exception, match="backend 'neuronir' has no mode 'max-autotune'"):
        function(torch.ones(2))
    default = torch.compile(lambda x: x * 2, backend="neuronir", mode="default", dynamic=False)
    close(default(torch.ones(2)), torch.full((2,), 2.0))


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
def test_fused_products_and_sums(dtype: Any) -> None:
    """TorchDynamo's fma. 16-bit products are not rounded; those of fp32 are, as torch's are."""
    from torch._inductor import inductor_prims

    generator = torch.Generator().manual_seed(0)
    a, b, c = (torch.randn(1000, generator=generator).to(dtype) for _ in range(3))
    found = compiled(inductor_prims.fma)(a, b, c)
    exact = a.double() * b.double() + c.double()
    assert found.dtype == dtype
    if dtype == torch.float32:
        assert torch.equal(found, inductor_prims.fma(a, b, c))
        assert ((found - exact).abs() <= 2.0**-24 * ((a * b).abs() + exact.abs())).all()
    else:
        assert torch.equal(found, exact.to(dtype))


def test_an_unknown_option() -> None:
    with pytest.raises(Exception, match="has no option level"):
        compiled(lambda x: x * 2, level=3)(torch.ones(2))
