"""The console scripts, from their first moment to their last."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from neuronir.cli import start
from neuronir.dialects.support.output import atomic_write

_HEEDED = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)

def wait():  # in short steps: a signal just before a sleep is only heeded after it
    for _ in range(600):
        time.sleep(0.1)
"""
"""A process takes over what its parent ignores, as one started with nohup does."""
_WRITES = """
import sys, time
from neuronir.cli import start
from neuronir.dialects.support.output import atomic_write

def pieces():
    yield b"half"
    print("writing", flush=True)
    wait()

def main():
    from neuronir.cli.program import guarded
    return guarded("neuronx-cc", lambda words: atomic_write(sys.argv[1], pieces()), [])

start._main_of = lambda module: main
sys.exit(start.neuronx_cc())
"""
_IMPORTS = """
import sys, time
from neuronir.cli import start

def main_of(module):
    print("importing", flush=True)
    try:
        wait()
    except BaseException:  # as some imports do
        wait()

start._main_of = main_of
sys.exit(start.neuron_opt())
"""


def signalled(code: str, number: int, *arguments: str) -> tuple[int, str]:
    """Run Python code up to its first line of output, send it a signal: its status and errors."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", _HEEDED + code, *arguments]
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None and process.stdout.readline()
        process.send_signal(number)
        errors = process.communicate(timeout=30)[1]
    return process.returncode, errors


def test_ctrl_c_during_the_imports() -> None:
    assert signalled(_IMPORTS, signal.SIGINT) == (130, "neuron-opt: interrupted\n")


def test_ctrl_c_behind_the_imports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(start, "_main_of", lambda module: interrupted)
    assert start.neuronx_cc() == 130
    assert capsys.readouterr().err == "neuronx-cc: interrupted\n"


def test_first_lines_need_little() -> None:
    """What is imported before Ctrl-C is taken care of, beyond what a script's own lines import."""
    code = (
        "import os, re, sys; sys.path.insert(0, '.'); before = set(sys.modules)\n"
        "import neuronir.cli.start; print(*set(sys.modules) - before)"
    )
    found = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=Path(start.__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    ours = {"neuronir", "neuronir.cli", "neuronir.cli.start"}
    assert set(found.stdout.split()) <= {*ours, "signal", "_signal"}


@pytest.mark.parametrize(
    "number, status", [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_request_to_end_leaves_no_part(number: int, status: int, tmp_path: Path) -> None:
    found, errors = signalled(_WRITES, number, str(tmp_path / "x.neff"))
    assert found == status
    assert errors == f"neuronx-cc: {'interrupted' if number == signal.SIGINT else 'terminated'}\n"
    assert not list(tmp_path.iterdir())


def test_part_of_a_killed_process_goes_at_the_next_write(tmp_path: Path) -> None:
    output = tmp_path / "x.neff"
    others = [
        tmp_path / name for name in (".x.neff.mine", ".x.neff.mine.part", ".y.neff.abcdefgh.part")
    ]
    for path in others:
        path.write_text("stays")
    assert signalled(_WRITES, signal.SIGKILL, str(output))[0] == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == len(others) + 1
    atomic_write(output, "whole")
    assert sorted(tmp_path.iterdir()) == sorted([output, *others])


def test_part_of_a_living_process_stays(tmp_path: Path) -> None:
    output = tmp_path / "x.neff"
    words = [sys.executable, "-c", _HEEDED + _WRITES, str(output)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        atomic_write(output, "whole")
        assert len(list(tmp_path.iterdir())) == 2
        process.kill()


@pytest.mark.parametrize("name", ["neuron_opt", "neuron_sim", "neuronx_cc"])
def test_each_script_starts_its_program(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [name, "--version"])
    assert getattr(start, name)() == 0
    assert capsys.readouterr().out
