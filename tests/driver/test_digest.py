"""The digest of weights: by name, type, shape and numbers, of large arrays a sample."""

from pathlib import Path

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import TensorType

from neuronir.driver import CompileOptions, compile_file
from neuronir.driver.digest import digest_of_weights
from neuronir.driver.weights import entry_function

MODEL = Path(__file__).parents[2] / "examples" / "bert_tiny.hlo"


def test_what_tells_weights_apart() -> None:
    small, large = np.arange(6, dtype=np.float32), np.zeros((1024, 1024), np.float32)
    found = [
        digest_of_weights(arrays)
        for arrays in (
            {"a": small, "b": large},
            {"b": small, "a": large},
            {"a": small.reshape(2, 3), "b": large},
            {"a": small.astype(ml_dtypes.bfloat16), "b": large},
            {"a": small + 1, "b": large},
            {"a": small, "b": large + 1},
            {"a": small},
        )
    ]
    assert len(set(found)) == len(found)
    assert digest_of_weights({"b": large.copy(), "a": small.copy()}) == found[0]


def test_the_container_says_it() -> None:
    """Of weights that are bound, and nothing where there are none."""
    module = compile_file(str(MODEL), "trn1", CompileOptions(compile_to="parsed")).module
    types = [argument.type for argument in entry_function(module).body.block.args]
    index, shape = next(
        (i, t.get_shape())
        for i, t in enumerate(types)
        if isinstance(t, TensorType) and len(t.get_shape()) == 2
    )
    weights = {f"arg{index}": np.ones(shape, np.float32)}
    for bound in (weights, {}):
        result = compile_file(str(MODEL), "trn1", CompileOptions(weights=bound))
        assert result.program is not None
        said = result.program.metadata.get("weights_sample_sha256")
        assert said == (digest_of_weights(bound) if bound else None)
