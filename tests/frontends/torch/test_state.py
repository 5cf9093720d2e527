"""Models that keep Python state: refused if their results depend on it, otherwise a warning."""

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from neuronir.dialects.support.errors import NeuronError, SourceLocation  # noqa: E402
from neuronir.frontends.torch.export import export  # noqa: E402

calls = 0
history: list[int] = []


class Stateful(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.seen: list[Any] = []
        self.table: dict[str, Any] = {"n": [0]}
        self.numbers = np.zeros(3)
        self.last: Any = None
        self.register_buffer("total", torch.zeros(2))


class Counter(Stateful):
    def forward(self, x: Any) -> Any:
        self.count += 1  # changes
        return x * self.count


class Appending(Stateful):
    def forward(self, x: Any) -> Any:
        return self.more(x)

    def more(self, x: Any) -> Any:
        self.seen.append(x)  # changes
        return x + len(self.seen)


class Nested(Stateful):
    def forward(self, x: Any) -> Any:
        self.table["n"][0] += 2  # changes
        return x + self.table["n"][0]


class Array(Stateful):
    def forward(self, x: Any) -> Any:
        self.numbers[1] += 1  # changes
        return x + self.numbers[1]


class Recurrent(Stateful):
    def forward(self, x: Any) -> Any:
        before = x if self.last is None else self.last
        self.last = torch.tanh(before + x)  # changes
        return self.last


class Global(nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        global calls
        calls += 1  # changes
        return x * calls


class Recording(Stateful):
    def forward(self, x: Any) -> Any:
        self.total.add_(x)
        self.last = x * 2  # changes
        return x + 1


class Caching(Stateful):
    def forward(self, x: Any) -> Any:
        if self.last is None:
            self.last = torch.arange(2.0)  # changes
        return x + self.last + torch.rand(2)


class Buffered(Stateful):
    def forward(self, x: Any) -> Any:
        self.total += x
        return self.total.clone()


def line_of(kind: Any) -> int:
    lines, start = inspect.getsourcelines(kind)
    return start + next(i for i, text in enumerate(lines) if "# changes" in text)


@pytest.mark.parametrize(
    ("kind", "name"),
    (
        (Counter, "'stack.1.count'"),
        (Appending, "'stack.1.seen'"),
        (Nested, "'stack.1.table['n']'"),
        (Array, "'stack.1.numbers'"),
        (Recurrent, "'stack.1.last'"),
        (Global, "global 'calls'"),
    ),
)
def test_results_that_depend_on_python_state(kind: Any, name: str) -> None:
    model = nn.Sequential()
    model.stack = nn.Sequential(nn.Tanh(), kind())
    model.forward = model.stack.forward
    with pytest.raises(NeuronError, match="NIR_TORCH014") as caught:
        export(model, (torch.ones(2),))
    error = caught.value
    assert isinstance(error.location, SourceLocation)
    assert (error.location.file, error.location.line) == (__file__, line_of(kind))
    assert name in error.message and "register_buffer" in str(error.help)


@pytest.mark.parametrize("kind", (Recording, Caching))
def test_state_that_no_result_depends_on(kind: Any) -> None:
    model = kind().eval()
    with pytest.warns(UserWarning, match=rf"'last' \({__file__}:{line_of(kind)}:1\)"):
        export(model, (torch.ones(2),))
    assert model.last is None  # no tensor without data is left
    assert torch.equal(model.total, torch.zeros(2))


def test_functions() -> None:
    own = [0]

    def function(x: Any) -> Any:
        own[0] += 1
        return x * own[0]

    with pytest.raises(NeuronError, match="'own'"):
        export(function, (torch.ones(2),))
    assert own == [0]

    def remembering(x: Any) -> Any:
        history.append(1)
        return x * 2

    with pytest.warns(UserWarning, match="'history'"):
        export(remembering, (torch.ones(2),))
    assert history == []


def test_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        export(Buffered(), (torch.ones(2),))
        export(nn.Sequential(nn.LSTM(4, 4), nn.Identity()), (torch.ones(2, 1, 4),))
        export(nn.BatchNorm1d(2).train(), (torch.ones(3, 2),))


def test_a_failed_capture_leaves_no_tensors() -> None:
    class Failing(Stateful):
        def forward(self, x: Any) -> Any:
            self.seen.append(x * 2)
            raise ValueError("the model's own reason")

    model = Failing()
    with pytest.raises(NeuronError, match="the model's own reason") as caught:
        export(model, (torch.ones(2),))
    assert model.seen == []
    assert isinstance(caught.value.location, SourceLocation)
    assert caught.value.location.file == __file__
