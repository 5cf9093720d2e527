"""HLO as XLA prints it after optimisation: fusions, layouts, bitcasts."""

import numpy as np
import pytest

from neuronir.passes.pipelines import PIPELINES
from tests.passes_hlo.helpers import check_preserved, corpus_args, corpus_program, opcodes


@pytest.mark.parametrize("name", ["hf_bert_tiny", "lstm_scan", "lenet", "mlp", "hf_resnet_tiny"])
def test_optimised_programs_keep_their_values(name: str) -> None:
    module = corpus_program(f"optimised/{name}.opt")
    args = [np.asarray(a) for a in corpus_args(f"core/{name}")]
    check_preserved(module, args, PIPELINES["hlo-simplify"], 1e-5)
    assert not {"bitcast", "fusion", "call"} & set(opcodes(module))
