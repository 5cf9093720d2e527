"""Models of the corpus, compiled once each, and what a run of them took."""

import os
import tempfile
from functools import cache

from benchmarks.corpus import Model, models
from benchmarks.measure import Measurement, measure
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine
from neuronir.driver import CompiledResult, CompileOptions, compile_file
from neuronir.targets.neff.reader import read_neff
from neuronir.targets.registry import get_target

SMALL = (
    "mlp",
    "mlp_bf16",
    "lenet",
    "embed_scatter_grad",
    "xent_grad",
    "flash_attn_scan",
    "hf_bert_tiny",
    "hf_resnet_tiny",
    "hf_llama_tiny",
)
"""Models that compile and run in a second or so."""

LARGE = (
    "batchnorm_train",
    "lstm_scan",
    "lenet_train_sgd",
    "hf_gpt2_tiny_train_adamw",
    "hf_distilbert",
    "hf_bert_base",
    "hf_resnet50",
    "hf_gpt2_small",
    "hf_vit_b16",
    "bert_odd_h760_a10_s120",
    "resnet50_200x200",
)


def machine() -> Machine:
    """The machine that all is compiled for."""
    found: Machine = get_target("trn1").machine
    return found


def model(name: str) -> Model:
    """A model of core or odd."""
    return models(("core", "odd"), (name,))[0]


def compiled(name: str, cast: str = "matmult", weights: bool = False) -> CompiledResult:
    """A model, compiled as `neuronx-cc` does."""
    chosen = model(name)
    bound = chosen.weights(chosen.args()) if weights else {}
    options = CompileOptions(auto_cast=cast, weights=bound)
    return compile_file(str(chosen.path), "trn1", options)


def decoded(result: CompiledResult) -> Program:
    """The program as it comes back from the container's bytes."""
    handle, path = tempfile.mkstemp(suffix=".neff")
    os.close(handle)
    try:
        result.write(path)
        return read_neff(path)
    finally:
        os.unlink(path)


@cache
def binary(name: str, cast: str = "matmult", weights: bool = False) -> Program:
    """`compiled`, through the container; made once."""
    return decoded(compiled(name, cast, weights))


@cache
def figures(name: str, weights: bool = True) -> Measurement:
    """Time, bytes and size of a model in the default precision; made once."""
    return measure(model(name), "matmult", weights, check=False)


def container(name: str) -> bytes:
    """The bytes of a model's container."""
    handle, path = tempfile.mkstemp(suffix=".neff")
    os.close(handle)
    try:
        compiled(name).write(path)
        with open(path, "rb") as stream:
            return stream.read()
    finally:
        os.unlink(path)
