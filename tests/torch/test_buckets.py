"""`bucket_model_trace`: kernels, shared states and what does not fit, against torch itself."""

import subprocess
import sys
from pathlib import Path
from typing import Any  # noqa: UP035  (TorchScript reads these names)

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import neuronir.torch as torch_neuronx  # noqa: E402
from neuronir.dialects.support.errors import NeuronError  # noqa: E402
from neuronir.torch import BucketModelConfig, bucket_model_trace  # noqa: E402
from tests.torch import kernels  # noqa: E402

EXACT = "--auto-cast none"


def scripted(name: str) -> Any:
    """A function that returns one of the kernels, scripted."""
    return lambda: torch.jit.script(getattr(kernels, name))


kernel = scripted("pad_kernel")


class Pooled(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.word, self.head = nn.Embedding(10, 6), nn.Linear(6, 3)

    def forward(self, ids: Any, mask: Any) -> Any:
        weights = mask.float().unsqueeze(-1)
        x = (self.word(ids) * weights).sum(1) / weights.sum(1)
        return {"logits": self.head(x)}


class Cache(nn.Module):  # type: ignore[misc]
    def __init__(self, size: int) -> None:
        super().__init__()
        self.cache = nn.Parameter(torch.zeros(size), requires_grad=False)

    def forward(self, x: Any) -> Any:
        new = self.cache * 0.5 + x
        return x + 1, new


def inputs(length: int) -> tuple[Any, Any]:
    return torch.arange(2 * length).reshape(2, length) % 10, torch.ones(2, length).long()


def test_inputs_of_any_length(tmp_path: Path) -> None:
    model = Pooled().eval()
    traced = bucket_model_trace(
        lambda: (model, {}),
        [inputs(4), inputs(8)],
        BucketModelConfig(kernel),
        str(tmp_path / "work"),
        EXACT,
    )
    assert traced.report().count("trn1:") == 2
    assert (tmp_path / "work" / "bucket1" / "graph.neff").exists()
    torch_neuronx.set_neuron_cores(traced, 1, 1)
    assert traced.bucket1.neuron.core == 1
    torch.jit.save(traced, tmp_path / "model.pt")
    for length in (1, 3, 4, 5, 8):
        found, expected = traced(*inputs(length))["logits"], model(*inputs(length))["logits"]
        torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5)
    torch.save((inputs(7), model(*inputs(7))["logits"].detach()), tmp_path / "data.pt")
    script = (
        "import sys, torch, neuronir.torch\n"
        "model = torch.jit.load(sys.argv[1]); x, y = torch.load(sys.argv[2])\n"
        "assert (model(*x)['logits'] - y).abs().max() < 1e-4\n"
    )
    words = [sys.executable, "-c", script, str(tmp_path / "model.pt"), str(tmp_path / "data.pt")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with pytest.raises(RuntimeError, match="NIR_TORCH013.*returned 0 tensors.* takes 2"):
        traced(*inputs(9))
    with pytest.raises(ValueError, match="in buckets"):
        torch_neuronx.dynamic_batch(traced)


def cached(size: int) -> Any:
    model = Cache(size)
    return model, {model.cache: 1}


def test_a_state_that_all_buckets_share() -> None:
    shared = torch.arange(4.0)
    config = BucketModelConfig(
        scripted("choose"),
        shared_state_buffer=[shared],
        shared_state_buffer_preprocessor=scripted("last_rows"),
        func_kwargs=[{"size": 2}, {"size": 4}],
    )
    traced = bucket_model_trace(cached, [torch.ones(2), torch.ones(4)], config)
    expected = shared.clone()
    for x in (torch.ones(2), torch.arange(4.0), torch.full((2,), 3.0)):
        (found,) = traced(x)
        torch.testing.assert_close(found, x + 1)
        own = expected[4 - x.shape[0] :]
        own.copy_(own * 0.5 + x)
        torch.testing.assert_close(traced.shared.s0, expected)
    assert torch.equal(shared, torch.arange(4.0))  # the caller's tensor stays as it is
    with pytest.raises(RuntimeError, match="NIR_TORCH013.*index \\[2\\], there are 2 buckets"):
        traced(torch.ones(6))


def test_the_whole_state_without_a_preprocessor() -> None:
    config = BucketModelConfig(scripted("choose"), shared_state_buffer=[torch.ones(2)])
    traced = bucket_model_trace(lambda: cached(2), [torch.ones(2)], config)
    for want in (1.5, 1.75):
        traced(torch.ones(2))
        torch.testing.assert_close(traced.shared.s0, torch.full((2,), want))


def test_what_does_not_fit() -> None:
    good, x = BucketModelConfig(kernel), torch.ones(2, 4)

    def relu() -> Any:
        return nn.ReLU(), {}

    with pytest.raises(TypeError, match="must be a list"):
        bucket_model_trace(relu, x, good)
    with pytest.raises(TypeError, match="example_inputs\\[0\\]"):
        bucket_model_trace(relu, [(x, [x])], good)
    with pytest.raises(TypeError, match="func must return"):
        bucket_model_trace(nn.ReLU, [x], good)
    with pytest.raises(TypeError, match="bucket_kernel must return a scripted function"):
        bucket_model_trace(relu, [x], BucketModelConfig(lambda: inputs))
    with pytest.raises(ValueError, match="1 dictionaries for 2 buckets"):
        bucket_model_trace(relu, [x, x], BucketModelConfig(kernel, func_kwargs=[{}]))
    with pytest.raises(ValueError, match="bucket 0 has 0 states.*has 1"):
        bucket_model_trace(relu, [x], BucketModelConfig(kernel, shared_state_buffer=[x]))
    with pytest.raises(ValueError, match="different numbers of tensors"):
        bucket_model_trace(lambda: (lambda *x: x[0], {}), [x, (x, x)], good)
    for options in ({"shared_state_buffer": x}, {"func_kwargs": 3}):
        with pytest.raises(TypeError):
            BucketModelConfig(kernel, **options)
    with pytest.raises(TypeError, match="needs a shared_state_buffer"):
        BucketModelConfig(kernel, shared_state_buffer_preprocessor=kernel)
    with pytest.warns(DeprecationWarning, match="keyword only"):
        assert BucketModelConfig(kernel, [x]).shared_state_buffer == [x]
    with pytest.raises(NeuronError, match="special_erfcx"):
        bucket_model_trace(lambda: (torch.special.erfcx, {}), [x], good)


def test_buckets_with_other_structures_of_results() -> None:
    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self, several: bool) -> None:
            super().__init__()
            self.several = several

        def forward(self, x: Any) -> Any:
            return (x + 1, x) if self.several else x + 1

    config = BucketModelConfig(
        scripted("choose"), func_kwargs=[{"several": False}, {"several": True}]
    )
    with pytest.raises(NeuronError, match="NIR_TORCH013.*do not fit each other"):
        bucket_model_trace(
            lambda several: (Model(several), {}), [torch.ones(2), torch.ones(4)], config
        )


def test_parallel_model_trace() -> None:
    x = torch.ones(2, 4)
    found = torch_neuronx.parallel_model_trace(lambda: (nn.ReLU(), {}), x)
    assert torch.equal(found(x), x)
    with pytest.raises(ValueError, match="tp_degree must be 1, is 2"):
        torch_neuronx.parallel_model_trace(lambda: (nn.ReLU(), {}), x, tp_degree=2)


def test_weights_of_buckets_beside_the_neffs(tmp_path: Path) -> None:
    first, second = Pooled().eval(), Pooled().eval()
    with torch.no_grad():
        second.head.weight.mul_(2)
    traced = torch_neuronx.parallel_model_trace(
        lambda: (first, {}),
        [inputs(4), inputs(8)],
        compiler_args=EXACT,
        inline_weights_to_neff=False,
        bucket_config=BucketModelConfig(kernel),
    )
    assert sum(w.numel() for w in traced.bucket1.weights.parameters()) == 6 * 10 + 6 * 3 + 3
    torch.jit.save(traced, tmp_path / "model.pt")
    for one in (traced, torch.jit.load(tmp_path / "model.pt")):
        for model in (first, second):
            torch_neuronx.replace_weights(one, model)
            for length in (3, 7):
                found, wanted = one(*inputs(length))["logits"], model(*inputs(length))["logits"]
                torch.testing.assert_close(found, wanted, rtol=2e-5, atol=2e-5)
    with pytest.raises(NeuronError, match="'head.weight' is missing"):
        torch_neuronx.replace_weights(traced, {"word.weight": first.word.weight})
