"""Running hlo passes on text and on corpus models, and comparing what programs compute."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.arg_spec import parse_pipeline

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.hlo import PASSES
from tests.corpus import CORPUS, program_args
from tests.differential.stages import stages
from tests.oracle import run_xla

Array = np.ndarray[Any, np.dtype[Any]]


def run_passes(module: ModuleOp, pipeline: str) -> ModuleOp:
    """Apply a pipeline in place, verifying after each pass."""
    ctx = Context()
    for spec in parse_pipeline(pipeline):
        PASSES[spec.name]().from_spec(spec).apply(ctx, module)
        module.verify()
    return module


def program(text: str) -> ModuleOp:
    """A module from HLO text; `BODY` may leave the HloModule line out."""
    return import_hlo_text(text if "HloModule" in text else f"HloModule test\n\n{text}")


def corpus_program(name: str) -> ModuleOp:
    """A corpus model (`core/mlp`)."""
    return import_hlo_text((CORPUS / "hlo" / f"{name}.hlo").read_text())


def corpus_args(name: str) -> list[Array]:
    """The arguments of a corpus model, drawn as its reference outputs were computed with."""
    return program_args(CORPUS / "hlo" / f"{name}.hlo")


def reference_path(name: str) -> Path:
    """The reference outputs of a corpus model."""
    return CORPUS / "hlo" / f"{name}.ref.npz"


def opcodes(module: ModuleOp) -> list[str]:
    """The hlo opcodes of the entry's block, in order (regions left out)."""
    function = next(iter(module.body.block.ops))
    return [op.name.removeprefix("hlo.") for op in function.regions[0].block.ops][:-1]


def assert_same(before: list[Array], after: list[Array], tolerance: float = 1e-5) -> None:
    """Equal types and shapes, and values equal within `tolerance` of the largest value."""
    assert len(before) == len(after)
    for a, b in zip(before, after, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        x, y = (v.astype(np.complex128 if v.dtype.kind == "c" else np.float64) for v in (a, b))
        finite = np.isfinite(x)
        scale = float(np.max(np.abs(x[finite]), initial=0.0))
        np.testing.assert_array_equal(np.isfinite(y), finite)
        np.testing.assert_array_equal(x[~finite], y[~finite])
        np.testing.assert_allclose(
            x[finite], y[finite], rtol=tolerance, atol=tolerance * max(scale, 1e-30)
        )


def check_preserved(
    module: ModuleOp, args: list[Array], pipeline: str, tolerance: float = 1e-5
) -> ModuleOp:
    """Interpret a program before and after a pipeline and compare; returns the program after."""
    before = interpret(module, args)
    run_passes(module, pipeline)
    assert_same(before, interpret(module, args), tolerance)
    return module


def check_bits(module: ModuleOp, text: str, args: Sequence[Array]) -> None:
    """Assert that a module, and the program of `text` on both paths, return XLA's fp32 bits, and
    NaN where it does."""
    (wanted,) = run_xla(text, args)
    np.testing.assert_array_equal(interpret(module, args)[0], wanted)
    numbers = ~np.isnan(wanted)
    for phases in (("binary",), ("tiled", "binary")):
        *_, stage = stages(text, args, "none", phases)
        (found,) = stage.outputs
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
        bits = found[numbers].view(np.uint32)
        np.testing.assert_array_equal(bits, wanted[numbers].view(np.uint32))
