"""Small models of the usual kinds, with random weights."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 8)

    def forward(self, x: Any) -> Any:
        return self.down(F.gelu(self.up(x)))


class Cnn(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.Hardswish(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.head = nn.Linear(32, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.features(x).flatten(1))


class Bert(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(50, 32), nn.Embedding(16, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.pooler = nn.Linear(32, 32)

    def forward(self, ids: Any, mask: Any) -> Any:
        x = self.word(ids) + self.place(torch.arange(ids.shape[1]))
        x = self.encoder(x, src_key_padding_mask=mask == 0)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Block(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(self.norm(x)).chunk(3, -1)
        q, k, v = (
            p.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for p in parts
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(61, 32), nn.Parameter(torch.randn(16, 32) * 0.1)
        self.blocks = nn.Sequential(Block(32, 4), Block(32, 4))
        self.norm = nn.LayerNorm(32)

    def forward(self, ids: Any) -> Any:
        x = self.word(ids) + self.place[: ids.shape[1]]
        return F.linear(self.norm(self.blocks(x)), self.word.weight)


class Tagger(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.word = nn.Embedding(40, 16)
        self.lstm = nn.LSTM(16, 24, num_layers=1, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, 5)

    def forward(self, ids: Any) -> Any:
        return F.log_softmax(self.head(self.lstm(self.word(ids))[0]), -1)


def examples() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Each model in evaluation mode, with inputs."""
    torch.manual_seed(0)
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[1, 7:] = 0
    return {
        "mlp": (Mlp().eval(), (torch.randn(4, 16),)),
        "cnn": (Cnn().eval(), (torch.randn(2, 3, 16, 16),)),
        "bert": (Bert().eval(), (torch.randint(0, 50, (2, 12)), mask)),
        "gpt": (Gpt().eval(), (torch.randint(0, 61, (2, 16)),)),
        "lstm": (Tagger().eval(), (torch.randint(0, 40, (2, 9)),)),
    }
