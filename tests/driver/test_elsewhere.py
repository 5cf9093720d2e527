"""Compiles in other processes: the same bytes, one error, a time limit."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions
from neuronir.driver.compiler import compile_model
from neuronir.driver.elsewhere import Job, compile_jobs
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.frontends.models import Use
from neuronir.targets.neff.writer import neff_pieces
from neuronir.version import __version__

PROGRAM = """HloModule m
ENTRY main {
  x = f32[8,300] parameter(0)
  w = f32[300,16] constant({%s})
  ROOT y = f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


class Given:
    """The model of a job, for a compile in this process."""

    name, digest = "model", "digest"

    def __init__(self, text: str) -> None:
        self.text = text

    def input_names(self, bindings: Bindings) -> list[str]:
        return ["x"]

    def operators(self, bindings: Bindings) -> list[Use]:
        return []

    def module(self, bindings: Bindings) -> ModuleOp:
        return import_hlo_text(self.text, "model")


def job(text: str, **options: Any) -> Job:
    module = import_hlo_text(text, "model")
    given = replace(CompileOptions(), **options)
    return Job(module, "model", "digest", ["x"], "trn1", given)


def text_of(seed: int) -> str:
    numbers = np.random.default_rng(seed).integers(0, 9, (300, 16))
    return PROGRAM % ",".join("{" + ",".join(map(str, row)) + "}" for row in numbers)


def test_the_same_bytes_in_order(tmp_path: Path) -> None:
    texts = [text_of(0), text_of(1)]
    jobs = [job(t, dump_phases_to=str(tmp_path / f"{i}")) for i, t in enumerate(texts)]
    for i, (neff, text) in enumerate(zip(compile_jobs(jobs, workers=2), texts, strict=True)):
        result = compile_model(Given(text), "trn1")
        assert result.program is not None
        assert neff == b"".join(neff_pieces(result.program, __version__, result.encoding))
        assert (tmp_path / f"{i}" / "1-hlo.mlir").exists()


def test_an_error_and_a_time_limit() -> None:
    wrong = PROGRAM.replace("f32", "f64") % ",".join(["{" + ",".join("0" * 16) + "}"] * 300)
    with pytest.raises(NeuronError, match="f64") as caught:
        compile_jobs([job(wrong)])
    assert caught.value.code.startswith("NCC_")
    with pytest.raises(subprocess.TimeoutExpired):
        compile_jobs([job(text_of(0))], timeout=0.01)


def test_a_process_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(NeuronError, match="NIR_DRV012.*exit status 1"):
        compile_jobs([job(text_of(0))])
