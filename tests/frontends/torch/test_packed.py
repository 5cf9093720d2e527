"""Packed sequences: recurrent layers give what torch gives, other uses are refused."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn.utils import rnn  # noqa: E402

from neuronir.dialects.support.errors import NeuronError  # noqa: E402
from neuronir.frontends.torch.export import export  # noqa: E402
from tests.frontends.torch.support import check  # noqa: E402


class Layers(nn.Module):  # type: ignore[misc]
    """Pack, run, pad; `total` steps."""

    def __init__(self, layer: Any, total: int | None, *, is_sorted: bool = False) -> None:
        super().__init__()
        self.layer, self.total, self.is_sorted = layer, total, is_sorted

    def forward(self, x: Any, lengths: Any, *state: Any) -> Any:
        first = self.layer.batch_first
        packed = rnn.pack_padded_sequence(x, lengths, first, enforce_sorted=self.is_sorted)
        hx = (state if len(state) == 2 else state[0]) if state else None
        out, last = self.layer(packed, hx)
        padded, counts = rnn.pad_packed_sequence(out, first, -1.0, self.total)
        return padded, counts, last


@pytest.mark.parametrize("kind", (nn.LSTM, nn.GRU, nn.RNN))
def test_recurrent_layers(kind: Any) -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 3, 5)
    x[2:, 2] = float("nan")  # padding
    layer = kind(5, 4, bias=False)
    check(Layers(layer, 7, is_sorted=True).eval(), x, torch.tensor([6, 4, 2]))
    layer = kind(5, 4, num_layers=2, bidirectional=True, batch_first=True)
    state = [torch.randn(4, 3, 4) for _ in range(2 if kind is nn.LSTM else 1)]
    check(Layers(layer, 6).eval(), torch.randn(3, 6, 5), torch.tensor([2, 6, 1]), *state)


def test_one_program_for_all_lengths() -> None:
    """Lengths are data: torch's own layers are left as they were, too."""
    model, x = Layers(nn.LSTM(3, 2), 4).eval(), torch.randn(4, 2, 3)
    first, second = (str(export(model, (x, torch.tensor(n))).graph) for n in ([4, 1], [2, 3]))
    assert first == second
    assert isinstance(rnn.pack_padded_sequence(x, torch.tensor([4, 1])).data, torch.Tensor)


def test_other_uses() -> None:
    x, lengths = torch.randn(4, 2, 3), torch.tensor([4, 1])
    with pytest.raises(NeuronError, match="NIR_TORCH001.*longest sequence") as caught:
        export(Layers(nn.GRU(3, 2), None).eval(), (x, lengths))
    assert "total_length=4" in str(caught.value.help)
    for use in (lambda p: p.data.sum(), lambda p: torch.relu(p.data), lambda p: p.data.size(0) * x):
        with pytest.raises(NeuronError, match="rows of a packed sequence") as caught:
            export(lambda x, n, use=use: use(rnn.pack_padded_sequence(x, n)), (x, lengths))
        assert "pad_packed_sequence only" in str(caught.value.help)
    layer = nn.LSTM(3, 4, proj_size=2)
    with pytest.raises(NeuronError, match="projections"):
        export(Layers(layer, 4).eval(), (x, lengths))
