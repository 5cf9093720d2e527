"""Compiles in other processes: the same bytes, one error, a time limit."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions, elsewhere, elsewhere_worker
from neuronir.driver.elsewhere import Answer, compile_jobs
from neuronir.driver.job import Job, pack
from neuronir.driver.pass_runner import RunFailure, as_error
from neuronir.driver.source import stamp
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.targets.neff.writer import neff_pieces
from neuronir.version import __version__

PROGRAM = """HloModule m
ENTRY main {
  x = f32[8,300] parameter(0)
  w = f32[300,16] constant({%s})
  ROOT y = f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


def job(text: str, **options: Any) -> Job:
    module = import_hlo_text(text, "model")
    stamp(module, "digest")
    return Job(module, "model", "trn1", replace(CompileOptions(), **options))


def text_of(seed: int) -> str:
    numbers = np.random.default_rng(seed).integers(0, 9, (300, 16))
    return PROGRAM % ",".join("{" + ",".join(map(str, row)) + "}" for row in numbers)


def test_the_same_bytes_in_order(tmp_path: Path) -> None:
    texts = [text_of(0), text_of(1)]
    jobs = [job(t, dump_phases_to=str(tmp_path / f"{i}")) for i, t in enumerate(texts)]
    for i, (answer, text) in enumerate(zip(compile_jobs(jobs, workers=2), texts, strict=True)):
        result = job(text).compile()
        assert result.program is not None and isinstance(answer, Answer)
        assert answer.neff == b"".join(neff_pieces(result.program, __version__, result.encoding))
        assert (tmp_path / f"{i}" / "1-hlo.mlir").exists()


def test_an_error_and_a_time_limit() -> None:
    wrong = PROGRAM.replace("f32", "f64") % ",".join(["{" + ",".join("0" * 16) + "}"] * 300)
    (failure,) = compile_jobs([job(wrong)])
    assert isinstance(failure, RunFailure) and "f64" in failure.diagnostic.text
    with pytest.raises(RunFailure) as here:
        job(wrong).compile()
    assert failure.diagnostic == here.value.diagnostic  # its place and excerpt, too
    with pytest.raises(subprocess.TimeoutExpired):
        compile_jobs([job(text_of(0))], timeout=0.01)


def test_options_that_a_job_cannot_set() -> None:
    with pytest.raises(ValueError, match="compile_to, framework"):
        compile_jobs([job(text_of(0), compile_to="hlo", framework="ONNX")])


def test_diagnostic_comes_back_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also a place that is no line of a file, and an excerpt."""
    error = NeuronError("NIR_X", "no", location="'a' of 'b'", help="do", excerpt="a\n^")

    def failing(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(Job, "compile", failing)
    pack(job(text_of(0))).write(tmp_path / "job")
    assert elsewhere_worker.main([str(tmp_path / "job")]) == 1
    done = subprocess.CompletedProcess([], 1, "", "")
    monkeypatch.setattr("subprocess.run", lambda *words, **options: done)
    failure = elsewhere._run(job(text_of(0)), tmp_path / "job", None)
    assert isinstance(failure, RunFailure) and vars(as_error(failure)) == vars(error)


def test_a_process_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(NeuronError, match="NIR_DRV012.*exit status 1"):
        compile_jobs([job(text_of(0))])
