"""Accuracy grows along the precision ladder of each target, on 30 models (B33, I04)."""

import json
from collections.abc import Sequence

import numpy as np
import pytest

from neuronir.accuracy import Step, ladder
from neuronir.dialects.support.npz import Array, load_npz, numbered
from neuronir.driver.options import CompileOptions
from neuronir.frontends.bindings import Bindings
from tests.corpus import CORPUS, program_args
from tests.driver.rungs import check_ladder_of

HLO = (
    "batchnorm_train embed_scatter_grad flash_attn_scan hf_bert_tiny hf_distilbert hf_llama_tiny "
    "hf_resnet_tiny lenet lenet_train_sgd lstm_scan mlp mlp_bf16 xent_grad"
).split()
ONNX = "bert_tiny convnext_tiny distilbert gpt2_tiny llama_tiny vit_tiny wav2vec2_tiny".split()
TENSORFLOW = (
    "hf_bert_tiny hf_vit_tiny lenet lstm_gru sepconv_bn tf1_cond tf1_convnet tf1_grad tf1_opzoo "
    "tf1_while"
).split()

MASKS = {"hf_distilbert": 37}
"""Arguments that are attention masks. The corpus draws 0 to 3, and 1 - 3 times the largest fp16, by
which the model hides words, is infinite in fp16."""

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("target", ["inf1", "trn1"])]


def check(path: str, arguments: Sequence[Array], target: str, options: CompileOptions) -> None:
    def measure(drawn: Sequence[Array]) -> list[Step]:
        return ladder(path, target, {f"arg{i}": a for i, a in enumerate(drawn)}, options)

    check_ladder_of(measure, arguments, target)


@pytest.mark.parametrize("name", HLO)
def test_programs_of_the_corpus(name: str, target: str) -> None:
    path = CORPUS / "hlo" / "core" / f"{name}.hlo"
    arguments = program_args(path)
    if name in MASKS:
        arguments[MASKS[name]] = np.minimum(arguments[MASKS[name]], 1)
    check(str(path), arguments, target, CompileOptions())


@pytest.mark.parametrize("name", ONNX)
def test_onnx_models_of_the_corpus(name: str, target: str) -> None:
    path = CORPUS / "onnx" / f"{name}.onnx"
    stored = numbered(load_npz(path.with_suffix(".ref.npz")), "arg")
    check(str(path), stored, target, CompileOptions())


@pytest.mark.parametrize("name", TENSORFLOW)
def test_tensorflow_models_of_the_corpus(name: str, target: str) -> None:
    path = CORPUS / "tf" / f"{name}.pb"
    stored = numbered(load_npz(path.with_suffix(".ref.npz")), "arg")
    about = json.loads(path.with_suffix(".json").read_text())
    shapes = {n: a.shape for n, a in zip(about["inputs"], stored, strict=True)}
    bindings = Bindings(shapes, outputs=about["outputs"])
    check(str(path), stored, target, CompileOptions(bindings=bindings))
