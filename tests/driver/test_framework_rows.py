"""Rows of docs/features.md about compiles from a framework: what is printed when one takes long, is
killed, aborts, or leaves no binary. Each test bears the number of its row.
"""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.dots import EVERY_S, dots
from neuronir.driver.elsewhere import compile_jobs
from tests.driver.test_elsewhere import job, text_of


def fails(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> NeuronError:
    """The error of a compile whose process runs `code` instead, when Python starts."""
    (folder / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *sys.path]))
    with pytest.raises(NeuronError) as error:
        compile_jobs([job(text_of(0))])
    assert error.value.code == "NIR_DRV012"
    return error.value


def test_b45_a_dot_every_20_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    assert EVERY_S == 20.0
    with dots():
        pass
    assert capsys.readouterr().out == ""
    with dots(every_s=0.01):
        time.sleep(0.2)
    shown = capsys.readouterr().out
    assert shown.endswith(".\n") and set(shown) == {".", "\n"}


def test_b45_the_line_ends_if_the_compile_fails() -> None:
    shown: list[str] = []
    with pytest.raises(ValueError, match="wrong"), dots(0.01, shown.append):
        time.sleep(0.1)
        raise ValueError("wrong")
    assert shown[0] == "." and shown[-1] == "\n"


def test_c11_a_killed_compile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})"
    error = fails(monkeypatch, tmp_path, code)
    assert error.message.startswith("Compile command returned: -9;")
    assert error.help is not None and "memory" in error.help


def test_c12_an_aborted_compile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = "import os, sys; print('wrong start partition', file=sys.stderr); os.abort()"
    error = fails(monkeypatch, tmp_path, code)
    assert error.message == (
        "The neuron-cc (neuron compiler) process aborted (SIG_ABORT): wrong start partition"
    )


@pytest.mark.parametrize("written", [True, False])
def test_c13_an_empty_neff(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, written: bool) -> None:
    write = "open(os.path.join(sys.orig_argv[-1], 'graph.neff'), 'w').close(); " if written else ""
    error = fails(monkeypatch, tmp_path, f"import os, sys; {write}os._exit(0)")
    assert error.message == (
        "Neuron executable (neff) is empty. Please check neuron-cc is installed and working "
        "properly"
    )
