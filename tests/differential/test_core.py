"""Real models at every level: XLA's references, each phase of nc, and the binary with races on."""

import pytest

from tests.corpus import CORPUS, program_args, program_reference
from tests.differential.stages import failures

SMALL = (
    "mlp",
    "mlp_bf16",
    "lenet",
    "embed_scatter_grad",
    "xent_grad",
    "hf_bert_tiny",
    "batchnorm_train",
    "lstm_scan",
    "hf_resnet_tiny",
    "hf_llama_tiny",
    "flash_attn_scan",
)
LARGE = (
    "lenet_train_sgd",
    "hf_gpt2_tiny_train_adamw",
    "hf_bert_base",
    "hf_distilbert",
    "hf_resnet50",
    "hf_gpt2_small",
    "hf_vit_b16",
)


def _check(name: str, cast: str) -> None:
    path = CORPUS / "hlo" / "core" / f"{name}.hlo"
    wrong = failures(path.read_text(), program_args(path), cast, program_reference(path))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("name", "cast"),
    [
        pytest.param(name, cast, marks=[pytest.mark.slow] * (number % 2 == (cast == "none")))
        for number, name in enumerate(SMALL)
        for cast in ("none", "matmult")
    ],
)
def test_small_models_at_every_level(name: str, cast: str) -> None:
    _check(name, cast)


@pytest.mark.slow
@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("name", LARGE)
def test_large_models_at_every_level(name: str, cast: str) -> None:
    _check(name, cast)
