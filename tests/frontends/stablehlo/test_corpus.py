"""The same hlo module from StableHLO as from HLO text, op for op, for the programs of the corpus.

XLA converts the HLO text to StableHLO. It flattens tuples and drops functions without callers, so
modules are compared as graphs (`likeness.py`).
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.frontends.stablehlo import import_stablehlo
from tests.frontends.stablehlo.likeness import Likeness, counts
from tests.oracle import _backend, random_array

CORPUS = Path(__file__).resolve().parents[2] / "corpus" / "hlo"
LARGEST = 150_000
"""Characters of HLO text of the programs that are compared outside of the slow set."""
LEAST = 114
"""Programs before XLA's optimisation; the fusions of optimised HLO are not of StableHLO."""
LEAST_GENERIC = 98
FROM_JAX = ("mlp", "lenet_train_sgd", "hf_bert_tiny")
"""Programs that JAX printed in both forms, small enough to be run."""


def programs() -> list[Path]:
    return [p for p in sorted(CORPUS.rglob("*.hlo")) if p.parent.name != "optimised"]


def converted(text: str) -> str:
    """HLO text as XLA converts it to StableHLO."""
    _, hlo, client = _backend()
    proto = hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    return str(client._xla.mlir.xla_computation_to_mlir_module(hlo.XlaComputation(proto)))


def generic(text: str) -> str:
    """The generic form of MLIR text, with locations."""
    pytest.importorskip("jax._src.interpreters.mlir")
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        return str(module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True))


def cases() -> list[Any]:
    found = []
    for path in programs():
        marks = [pytest.mark.slow] if path.stat().st_size > LARGEST else []
        found.append(pytest.param(path, id=f"{path.parent.name}/{path.stem}", marks=marks))
    return found


def test_there_are_enough_programs() -> None:
    assert len(programs()) >= LEAST


@pytest.mark.parametrize("path", cases())
def test_like_the_text(path: Path) -> None:
    text = path.read_text()
    stable = converted(text)
    ours, theirs = import_stablehlo(stable, "x"), import_hlo_text(text, "x")
    ours.verify()
    assert Likeness(ours).main() == Likeness(theirs).main()
    assert counts(ours) == counts(theirs)


@pytest.mark.slow
def test_the_generic_form_is_the_same_module() -> None:
    done = 0
    for path in programs():
        if path.stat().st_size > LARGEST // 4:
            continue
        stable = converted(path.read_text())
        pretty, other = import_stablehlo(stable, "x"), import_stablehlo(generic(stable), "x")
        assert Likeness(pretty).main() == Likeness(other).main(), path.name
        done += 1
    assert done >= LEAST_GENERIC


@pytest.mark.parametrize("name", FROM_JAX)
def test_results_of_what_jax_printed(name: str) -> None:
    """XLA also folds and reorders on the way from JAX to HLO text: results are compared."""
    theirs = import_hlo_text((CORPUS / "core" / f"{name}.hlo").read_text(), "x")
    ours = import_stablehlo((CORPUS / "core" / f"{name}.stablehlo.mlir").read_text(), "x")
    ours.verify()
    rng = np.random.default_rng(7)
    block = next(iter(ours.body.block.ops)).regions[0].block
    arrays = []
    for argument in block.args:
        shape, element = argument.type.get_shape(), str(argument.type.element_type)
        if element == "f32":
            arrays.append(random_array(rng, shape, np.float32) * np.float32(0.1))
        else:
            arrays.append(rng.integers(0, 2, shape).astype(np.int32))
    for found, expected in zip(interpret(ours, arrays), interpret(theirs, arrays), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


def test_the_optimised_form_is_refused_by_name() -> None:
    text = converted((CORPUS / "optimised" / "mlp.opt.hlo").read_text())
    with pytest.raises(NeuronError, match=r"unsupported operator mhlo\.fusion"):
        import_stablehlo(text, "x")
