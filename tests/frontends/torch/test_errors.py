"""Models that cannot be imported: one error each, with the operator and the line."""

import inspect
import itertools
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.func import grad, vmap  # noqa: E402

from neuronir.dialects.support.errors import NeuronError, SourceLocation  # noqa: E402
from neuronir.frontends.torch import import_torch  # noqa: E402
from neuronir.frontends.torch.export import export  # noqa: E402
from neuronir.frontends.torch.locations import module_path, source_line  # noqa: E402


class Inner(nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return torch.special.erfcx(x)  # the operator that is refused


class Outer(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.stack = nn.Sequential(nn.Linear(4, 4), Inner())

    def forward(self, x: Any) -> Any:
        return self.stack(x)


def refusal(model: Any, *inputs: Any) -> NeuronError:
    with pytest.raises(NeuronError) as caught:
        import_torch(export(model, inputs))
    return caught.value


def test_an_operator_is_refused_with_its_line() -> None:
    error = refusal(Outer(), torch.zeros(2, 4))
    lines, start = inspect.getsourcelines(Inner)
    line = start + next(i for i, text in enumerate(lines) if "erfcx" in text)
    assert error.code == "NCC_EUOC002"
    assert isinstance(error.location, SourceLocation)
    assert (error.location.file, error.location.line) == (__file__, line)
    assert "aten.special_erfcx" in error.message
    assert "stack.1" in error.message


def test_an_operator_of_a_function_and_of_a_method() -> None:
    def helper(x: Any) -> Any:
        return torch.special.erfcx(x)  # of the function

    class Model(nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return self.method(x)

        def method(self, x: Any) -> Any:
            return torch.special.erfcx(x)  # of the method

    lines, start = inspect.getsourcelines(test_an_operator_of_a_function_and_of_a_method)
    for model, word in ((lambda x: helper(x) + 1, "function"), (Model(), "method")):
        error = refusal(model, torch.zeros(2))
        line = start + next(i for i, text in enumerate(lines) if f"# of the {word}" in text)
        assert error.location == SourceLocation(__file__, line, 1)


def test_a_model_that_does_not_run() -> None:
    error = refusal(nn.Linear(3, 2), torch.ones(2, 4))
    assert error.code == "NIR_TORCH001" and "model(*example_inputs)" in str(error.help)
    error = refusal("model", torch.ones(2))
    assert error.code == "NIR_TORCH009" and "is of type str" in error.message


def test_devices_and_layouts() -> None:
    error = refusal(nn.Linear(3, 2), torch.ones(2, 3, device="meta"))
    assert error.code == "NIR_TORCH015" and "example input 0 is on device 'meta'" in error.message
    error = refusal(nn.Sequential(nn.Linear(3, 2, device="meta")), torch.ones(2, 3))
    assert error.code == "NIR_TORCH015" and "parameter '0.weight'" in error.message
    assert "has no data" in str(error.help)
    error = refusal(nn.ReLU(), torch.ones(2, 3).to_sparse())
    assert error.code == "NCC_ESPP004" and "to_dense()" in str(error.help)


def test_weights_without_data() -> None:
    """Programs that others exported."""
    model, x = nn.Linear(3, 2, device="meta"), torch.ones(2, 3, device="meta")
    with pytest.raises(NeuronError, match="NIR_TORCH015.*'weight'"):
        import_torch(torch.export.export(model, (x,)))
    program = torch.export.export(nn.Linear(3, 2), (torch.ones(2, 3),))
    del program.state_dict["bias"]
    with pytest.raises(NeuronError, match="NIR_TORCH010.*'bias' is missing"):
        import_torch(program)


def test_shapes_that_depend_on_data() -> None:
    error = refusal(lambda x: torch.nonzero(x), torch.ones(3))
    assert error.code in ("NIR_IMP001", "NIR_IMP002", "NIR_TORCH001", "NCC_EUOC002")
    error = refusal(lambda x: x[x > 0].sum(), torch.ones(3))
    assert error.code.startswith(("NIR_", "NCC_"))


def test_a_branch_on_data() -> None:
    error = refusal(lambda x: x + 1 if x.sum() > 0 else x, torch.ones(3))
    assert error.code == "NIR_TORCH001"
    assert "captured" in error.message
    assert isinstance(error.location, SourceLocation) and error.location.file == __file__
    assert "must not depend on the data" in str(error.help)


def test_complex_numbers() -> None:
    error = refusal(lambda x: torch.fft.rfft(x).abs(), torch.ones(8))
    assert error.code == "NCC_EUOC002"
    assert "complex" in error.message


def test_locations_and_paths() -> None:
    program = export(Outer().stack[0], (torch.zeros(2, 4),))
    named = export(nn.Sequential(nn.ReLU(), nn.Tanh()), (torch.zeros(2),))
    paths = [module_path(n) for n in named.graph.nodes if n.op == "call_function"]
    assert paths == ["0", "1"]
    assert all(source_line(n) is None for n in program.graph.nodes)  # all of it is torch's


def test_a_function_that_fails_is_called_once() -> None:
    calls = itertools.count()

    def function(x: Any) -> Any:
        next(calls)
        raise ValueError("the function's own reason")

    error = refusal(function, torch.ones(3))
    assert (error.code, next(calls)) == ("NIR_TORCH001", 1)
    assert "the function's own reason" in error.message


def test_the_first_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.export does not take what torch.func makes of a module, another tracer does."""
    linear = nn.Linear(3, 2)

    def taken(x: Any) -> Any:
        return grad(lambda t: linear(t).sum())(x)

    assert import_torch(export(taken, (torch.ones(3),))).inputs
    assert import_torch(export(vmap(grad(lambda t: t.sin().sum())), (torch.ones(2, 3),))).inputs

    def fails(function: Any, args: Any) -> Any:
        raise RuntimeError("the second reason")

    monkeypatch.setattr("neuronir.frontends.torch.export._traced", fails)
    assert "functorch tensor" in refusal(taken, torch.ones(3)).message


def test_assertions_on_data() -> None:
    def model(x: Any) -> Any:
        torch._assert_async((x > 0).all())
        torch._assert_async((x > 1).all(), "x is too small")
        return x * 2

    assert import_torch(export(model, (torch.ones(3),))).results


def test_a_shape_of_data_names_its_operator_only() -> None:
    """And not torch's comparisons and assertions of the size."""
    with pytest.raises(NeuronError) as caught:
        import_torch(export(lambda x: torch.nonzero(x) + 1, (torch.tensor([1, 0, 2]),)))
    assert caught.value.code == "NCC_EUOC002"
    assert "aten.nonzero.default" in caught.value.message
    assert "the shape of its result depends on data" in caught.value.message
    assert "built-in" not in caught.value.message and "_assert" not in caught.value.message
