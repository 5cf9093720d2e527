"""Bad input of traced models: one error each, with code and advice."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import neuronir.torch as torch_neuronx  # noqa: E402
from neuronir.dialects.support.errors import NeuronError  # noqa: E402
from neuronir.torch import interface  # noqa: E402

EXACT = ["--auto-cast", "none"]


@pytest.fixture(scope="module")
def traced() -> Any:
    return torch_neuronx.trace(nn.Linear(3, 2), torch.ones(4, 3), compiler_args=EXACT)


@pytest.mark.parametrize(
    ("args", "kwargs", "code", "message", "help"),
    (
        ((3,), {}, "NIR_TORCH009", "argument 'x0' is of type int", "torch.as_tensor"),
        ((torch.ones(4, 3).numpy(),), {}, "NIR_TORCH009", "is of type ndarray", "torch.as_tensor"),
        ((None,), {}, "NIR_TORCH009", "is of type NoneType", "torch.as_tensor"),
        ((), {}, "NIR_TORCH007", r"takes \(x0\), \(\) are given", "by position"),
        ((torch.ones(4, 3),) * 2, {}, "NIR_TORCH007", r"\(x0, argument 1\) are", "by position"),
        ((), {"input": torch.ones(4, 3)}, "NIR_TORCH007", r"\(input\) are given", "by position"),
        ((torch.ones(4, 4),), {}, "NIR_TORCH007", r"\[4, 3\], is float32 \[4, 4\]", "trace the"),
        ((torch.ones(4, 3).int(),), {}, "NIR_TORCH007", "is int32", "trace the model"),
        ((torch.ones(4, 3, device="meta"),), {}, "NIR_TORCH015", "device 'meta'", "has no data"),
        ((torch.ones(4, 3).to_sparse(),), {}, "NCC_ESPP004", "torch.sparse_coo", "to_dense()"),
    ),
)
def test_a_wrong_call(
    traced: Any, args: Any, kwargs: Any, code: str, message: str, help: str
) -> None:
    with pytest.raises(NeuronError, match=message) as caught:
        traced(*args, **kwargs)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.code == code
    assert "TorchScript" not in str(caught.value) and "At:" not in str(caught.value)
    assert help in str(caught.value.help)


def test_nested_arguments() -> None:
    example = {"a": torch.ones(2), "b": torch.ones(2)}
    one = torch_neuronx.trace(lambda x: x["a"] + x["b"], (example,))
    with pytest.raises(NeuronError, match="NIR_TORCH009.*'x0' is of type float"):
        one({"a": torch.ones(2), "b": 1.0})


def test_a_loaded_model_has_the_code_in_its_message(traced: Any, tmp_path: Path) -> None:
    torch.jit.save(traced, tmp_path / "model.pt")
    loaded = torch.jit.load(tmp_path / "model.pt")
    with pytest.raises(RuntimeError, match="NIR_TORCH007.*must be float32 \\[4, 3\\]"):
        loaded(torch.ones(4, 4))


def test_a_file_of_a_later_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = interface.VERSION + 1
    with monkeypatch.context() as patched:
        patched.setattr(interface, "VERSION", later)
        traced = torch_neuronx.trace(nn.ReLU(), torch.ones(2))
        torch.jit.save(traced, tmp_path / "model.pt")
    interface.parse_interface.cache_clear()
    with pytest.raises(RuntimeError, match=f"(?s)NIR_TORCH004.*format {later}.*newer neuronir"):
        torch.jit.load(tmp_path / "model.pt")


def test_weights_that_do_not_fit() -> None:
    model, x = nn.Linear(3, 2), torch.ones(4, 3)
    traced = torch_neuronx.trace(model, x, compiler_args=EXACT, inline_weights_to_neff=False)
    before = traced(x)
    good = {"weight": torch.zeros(2, 3)}
    for weights, code, message in (
        ({}, "NIR_TORCH010", "'weight' is missing, and 1 more"),
        ({**good, "bias": torch.ones(3)}, "NIR_TORCH010", "'bias' must be torch.float32 \\[2\\]"),
        ({**good, "bias": [0.0, 0.0]}, "NIR_TORCH010", "'bias' must be .* is list"),
        (7, "NIR_TORCH010", "a module or a state dict"),
        (nn.Linear(3, 2, device="meta"), "NIR_TORCH015", "'weight' is on device 'meta'"),
    ):
        with pytest.raises(NeuronError, match=message) as caught:
            torch_neuronx.replace_weights(traced, weights)
        assert caught.value.code == code and caught.value.help
    assert torch.equal(traced(x), before)  # none of them was replaced
