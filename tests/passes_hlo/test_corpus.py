"""The hlo pipelines on real models: nothing changes in what they compute, and little is left."""

import pytest

from neuronir.passes import statistics
from neuronir.passes.pipelines import PIPELINES
from tests.passes_hlo.helpers import (
    check_preserved,
    corpus_args,
    corpus_program,
    opcodes,
    run_passes,
)

SMALL = (
    "batchnorm_train embed_scatter_grad flash_attn_scan hf_bert_tiny hf_llama_tiny hf_resnet_tiny "
    "lenet lenet_train_sgd lstm_scan mlp mlp_bf16 xent_grad hf_gpt2_tiny_train_adamw"
).split()
LARGE = "hf_bert_base hf_distilbert hf_gpt2_small hf_vit_b16 hf_resnet50".split()
TOLERANCE = {"batchnorm_train": 1e-3}


@pytest.mark.parametrize("name", SMALL)
def test_values_are_kept(name: str) -> None:
    pipeline = PIPELINES["hlo-simplify"] + ",hlo-find-composites"
    module, args = corpus_program(f"core/{name}"), corpus_args(f"core/{name}")
    check_preserved(module, args, pipeline, TOLERANCE.get(name, 2e-5))


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_values_are_kept_in_large_models(name: str) -> None:
    pipeline = PIPELINES["hlo-simplify"] + ",hlo-find-composites"
    check_preserved(corpus_program(f"core/{name}"), corpus_args(f"core/{name}"), pipeline, 2e-5)


@pytest.mark.parametrize(
    ("name", "ops", "found"),
    [
        ("core/hf_bert_base", 450, {"gelu_exact": 12, "layer_norm": 25, "softmax": 12}),
        ("core/hf_gpt2_small", 460, {"gelu_tanh": 12, "layer_norm": 25, "softmax": 12}),
        ("core/hf_vit_b16", 410, {"gelu_exact": 12, "layer_norm": 25, "softmax": 12}),
        ("core/hf_resnet50", 200, {"batch_norm_inference": 53}),
        ("core/hf_llama_tiny", 120, {"rms_norm": 5, "silu": 2, "softmax": 2}),
        ("core/lstm_scan", 12, {"logistic": 3}),
        ("core/mlp_bf16", 25, {"gelu_tanh": 2}),
        ("bench/layernorm_4096x1024", 1, {"layer_norm": 1}),
        ("bench/rmsnorm_4096x1024", 1, {"rms_norm": 1}),
        ("bench/gelu_4096x4096", 1, {"gelu_tanh": 1}),
        ("bench/swiglu_4096x3072x1024", 5, {"silu": 1}),
        ("odd/bert_odd_h760_a10_s120", 180, {"gelu_exact": 4, "layer_norm": 9, "softmax": 4}),
    ],
)
def test_composites_found(name: str, ops: int, found: dict[str, int]) -> None:
    statistics.reset()
    module = run_passes(corpus_program(name), PIPELINES["hlo-simplify"] + ",hlo-find-composites")
    counts = statistics.snapshot()["hlo-find-composites"]
    assert {k: n for k, n in counts.items() if k != "composites"} == found
    assert len(opcodes(module)) <= ops
