"""Networks of the usual kinds, from transformers and torchvision where they have them, with random
weights. The sizes are small where only the time of a test depends on them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Made = tuple[Any, tuple[Any, ...]]
"""A model in evaluation mode, and its inputs."""


def _text(model: Any, words: int, *, length: int = 16, masked: bool = False) -> Made:
    """A language model that returns a tuple, with ids and perhaps a mask that hides some."""
    ids = torch.randint(0, words, (2, length))
    mask = torch.ones_like(ids)
    mask[1, length - 5 :] = 0
    model = model.eval()
    if masked:
        return Called(model, "input_ids", "attention_mask"), (ids, mask)
    return Called(model, "input_ids"), (ids,)


class Called(nn.Module):  # type: ignore[misc]
    """A model of transformers with arguments by position and a tuple of results; no cache."""

    def __init__(self, model: Any, *names: str, first: int = 1) -> None:
        super().__init__()
        self.model = model
        self.names = names
        self.first = first

    def forward(self, *values: Any) -> Any:
        options = dict(zip(self.names, values, strict=True))
        if hasattr(self.model.config, "use_cache"):
            options["use_cache"] = False
        return self.model(**options, return_dict=False)[: self.first]


def bert() -> Made:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=100,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=32,
    )
    return _text(BertModel(config), 100, masked=True)


def gpt2() -> Made:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=100, n_positions=32, n_embd=64, n_layer=2, n_head=4)
    return _text(GPT2LMHeadModel(config), 100)


def llama() -> Made:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=100,
        hidden_size=64,
        intermediate_size=176,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    return _text(LlamaForCausalLM(config), 100, masked=True)


def t5() -> Made:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=100, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, use_cache=False
    )
    model = T5ForConditionalGeneration(config).eval()
    ids = torch.randint(1, 100, (2, 12)), torch.randint(1, 100, (2, 7))
    return Called(model, "input_ids", "decoder_input_ids"), ids


def vit() -> Made:
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        image_size=64,
        patch_size=16,
    )
    model = ViTModel(config).eval()
    return Called(model, "pixel_values", first=2), (torch.randn(2, 3, 64, 64),)


def whisper_encoder() -> Made:
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(
        num_mel_bins=20,
        d_model=64,
        encoder_layers=2,
        encoder_attention_heads=4,
        encoder_ffn_dim=128,
        max_source_positions=50,
    )
    return Called(WhisperEncoder(config).eval(), "input_features"), (torch.randn(1, 20, 100),)


def _pictures(build: Any, size: int) -> Made:
    """A network of torchvision, whose batch norms have seen data."""
    model = build(weights=None, num_classes=10)
    model.train()
    with torch.no_grad():
        for _ in range(3):
            model(torch.randn(4, 3, 64, 64))
    return model.eval(), (torch.randn(1, 3, size, size),)


def resnet50() -> Made:
    from torchvision.models import resnet50 as build

    return _pictures(build, 64)


def mobilenet_v3() -> Made:
    from torchvision.models import mobilenet_v3_small as build

    return _pictures(build, 64)


def convnext() -> Made:
    from torchvision.models import convnext_tiny as build

    model, inputs = _pictures(build, 64)
    with torch.no_grad():  # 1e-6 at first: the blocks would compute nothing that is seen
        for name, weight in model.named_parameters():
            if name.endswith("layer_scale"):
                weight.fill_(0.5)
    return model, inputs


class UnetBlock(nn.Module):  # type: ignore[misc]
    """A level of the U-Net of a diffusion model: down, attention with a text, up with a skip."""

    def __init__(self, width: int = 32, text: int = 24, groups: int = 8) -> None:
        super().__init__()
        self.time = nn.Linear(width, width)
        self.first = nn.Sequential(
            nn.GroupNorm(groups, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1)
        )
        self.down = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(groups, width)
        self.attention = nn.MultiheadAttention(
            width, 4, kdim=text, vdim=text, batch_first=True, bias=False
        )
        self.gate = nn.Linear(width, 8 * width)
        self.out = nn.Linear(4 * width, width)
        self.up = nn.Conv2d(width, width, 3, padding=1)
        self.last = nn.Sequential(
            nn.GroupNorm(groups, 2 * width), nn.SiLU(), nn.Conv2d(2 * width, width, 3, padding=1)
        )

    def forward(self, x: Any, step: Any, text: Any) -> Any:
        skip = x + self.first(x) + self.time(F.silu(step))[:, :, None, None]
        y = self.down(skip)
        tokens = self.norm(y).flatten(2).transpose(1, 2)
        tokens = tokens + self.attention(tokens, text, text, need_weights=False)[0]
        value, gate = self.gate(tokens).chunk(2, -1)
        tokens = tokens + self.out(value * F.gelu(gate))
        y = y + tokens.transpose(1, 2).reshape(y.shape)
        y = self.up(F.interpolate(y, scale_factor=2.0, mode="nearest"))
        return self.last(torch.cat([y, skip], 1)) + skip


def unet_block() -> Made:
    inputs = torch.randn(2, 32, 16, 16), torch.randn(2, 32), torch.randn(2, 7, 24)
    return UnetBlock().eval(), inputs


class Tagger(nn.Module):  # type: ignore[misc]
    """A tagger of two bidirectional layers of LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.word = nn.Embedding(100, 32)
        self.lstm = nn.LSTM(32, 48, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(96, 9)

    def forward(self, ids: Any) -> Any:
        return F.log_softmax(self.head(self.lstm(self.word(ids))[0]), -1)


def lstm_tagger() -> Made:
    return Tagger().eval(), (torch.randint(0, 100, (2, 11)),)


class Dlrm(nn.Module):  # type: ignore[misc]
    """Deep learning recommendation: dense features, bags of categories, products of all pairs."""

    def __init__(self, tables: int = 5, rows: int = 200, width: int = 16) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        pairs = tables * (tables + 1) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense: Any, categories: Any) -> Any:
        x = self.bottom(dense)
        bags = [table(categories[:, i]) for i, table in enumerate(self.tables)]
        rows = torch.stack([x, *bags], 1)
        products = rows @ rows.transpose(1, 2)
        i, j = torch.tril_indices(len(bags) + 1, len(bags) + 1, offset=-1)
        return torch.sigmoid(self.top(torch.cat([x, products[:, i, j]], 1)))


def dlrm() -> Made:
    return Dlrm().eval(), (torch.randn(8, 13), torch.randint(0, 200, (8, 5, 3)))


NETWORKS: dict[str, Callable[[], Made]] = {
    made.__name__: made
    for made in (
        *(bert, gpt2, llama, t5, vit, whisper_encoder),
        *(resnet50, mobilenet_v3, convnext),
        *(unet_block, lstm_tagger, dlrm),
    )
}


def network(name: str) -> Made:
    """A network with the same weights and inputs in each call."""
    torch.manual_seed(0)
    return NETWORKS[name]()


def base_size(name: str) -> Made:
    """BERT-base for one sequence of 128, or ResNet-50 for one picture, as in the corpus."""
    torch.manual_seed(0)
    if name == "bert_base":
        from transformers import BertConfig, BertModel

        ids = torch.randint(0, 30522, (1, 128))
        model = Called(BertModel(BertConfig()).eval(), "input_ids", "attention_mask", first=2)
        return model, (ids, torch.ones_like(ids))
    assert name == "resnet50"
    from torchvision.models import resnet50 as build

    model = build(weights=None).eval()
    for norm in model.modules():  # as after some training: no offset is zero
        if isinstance(norm, nn.BatchNorm2d):
            for value in (norm.running_mean, norm.bias):
                nn.init.normal_(value, std=0.1)
    return model, (torch.randn(1, 3, 224, 224),)
