"""Real models as nc-allocate leaves them: no buffer reads what another wrote."""

import pytest

from benchmarks.corpus import Model
from neuronir.driver import CompileOptions, compile_file
from tests.corpus import CORPUS
from tests.passes_nc.ownership import foreign_reads


def _check(name: str, weights: bool) -> None:
    path = CORPUS / "hlo" / f"{name}.hlo"
    model = Model(path)
    bound = model.weights(model.args()) if weights else {}
    options = CompileOptions(auto_cast="matmult", weights=bound, compile_to="allocated")
    found = foreign_reads(compile_file(str(path), "trn1", options).module)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["core/hf_bert_tiny", "core/hf_distilbert", "core/lenet"])
def test_small_models(name: str) -> None:
    _check(name, True)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize(
    "name",
    [
        "core/hf_bert_base",
        "core/hf_gpt2_small",
        "core/hf_resnet50",
        "core/hf_vit_b16",
        "bench/bert_base_b8",
        "bench/resnet50_b4",
        "odd/bert_odd_h760_a10_s120",
    ],
)
def test_large_models(name: str, weights: bool) -> None:
    _check(name, weights)
