"""neuron-opt where lit does not reach: signals, broken pipes, full disks, broken plugins."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neuronir.cli.neuron_opt import main

ROOT = Path(__file__).resolve().parents[2]
OPT = [sys.executable, "-m", "neuronir.cli.neuron_opt"]
MODULE = "func.func @f(%a: i32) -> i32 {\n  func.return %a : i32\n}\n"
SLOW_PASS = """
import time
from xdsl.passes import ModulePass

class Sleep(ModulePass):
    name = "sleep"

    def apply(self, ctx, op):
        print("sleeping", flush=True)
        for _ in range(600):  # a signal just before a sleep does not end it
            time.sleep(0.1)

class Crash(ModulePass):
    name = "crash"

    def apply(self, ctx, op):
        raise ZeroDivisionError("oops")

PASSES = [Sleep, Crash]
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A small module in a file."""
    path = tmp_path / "f.mlir"
    path.write_text(MODULE)
    return path


@pytest.fixture
def passes(tmp_path: Path) -> Path:
    """A file with a pass that takes long and one that crashes."""
    path = tmp_path / "passes.py"
    path.write_text(SLOW_PASS)
    return path


def test_broken_pipe(tmp_path: Path) -> None:
    """A reader that goes away early is not an error."""
    lines = "\n".join(f"  %{i} = arith.constant {i} : i32" for i in range(5_000))
    big = tmp_path / "big.mlir"
    big.write_text(f"func.func @f() {{\n{lines}\n  func.return\n}}\n")
    done = subprocess.run(
        f"{' '.join(OPT)} {big} | head -1; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "builtin.module {\n0\n"
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk(module: Path) -> None:
    """Both for -o and for stdout."""
    done = subprocess.run(
        [*OPT, str(module), "-o", "/dev/full"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1 and "No space left" in done.stderr
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*OPT, str(module)], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1 and "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_interrupt_leaves_nothing(module: Path, passes: Path) -> None:
    """Ctrl-C in a pass: status 130, one line, the output file untouched."""
    output = module.with_name("out.mlir")
    command = [*OPT, str(module), "--load", str(passes), "-p", "sleep", "-o", str(output)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "sleeping\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == "neuron-opt: interrupted\n"
    assert not output.exists()


def test_a_crash_leaves_a_reproducer(
    module: Path,
    passes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without asking: the reproducer lies in the temporary folder, and reproduces."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert main([str(module), "--load", str(passes), "-p", "crash"]) == 70
    assert "internal error in pass 'crash': ZeroDivisionError: oops" in capsys.readouterr().err
    (reproducer,) = folder.iterdir()
    assert main(["--run-reproducer", str(reproducer)]) == 70


def test_input_that_is_not_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A binary file is refused in one line."""
    path = tmp_path / "x.mlir"
    path.write_bytes(b"func\n\xff\xfe")
    assert main([str(path)]) == 1
    assert "is not text: byte 0xff on line 2" in capsys.readouterr().err


def test_hlo_is_recognised_without_its_extension(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its header, after comments."""
    path = tmp_path / "model.txt"
    path.write_text(
        "// a comment\nHloModule m\n\nENTRY main {\n"
        "  a = f32[2]{0} parameter(0)\n  ROOT b = f32[2]{0} negate(a)\n}\n"
    )
    assert main([str(path)]) == 0
    assert "hlo.negate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("PASSES = [1/0]", "ZeroDivisionError"),
        ("x = 1", "does not define PASSES, DIALECTS or TARGETS"),
        (
            "from xdsl.transforms.canonicalize import CanonicalizePass as C\nPASSES = [C]",
            "pass 'canonicalize' of",
        ),
    ],
)
def test_load_errors(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong with a loaded file is said without a traceback."""
    path = tmp_path / "p.py"
    path.write_text(content)
    assert main(["--load", str(path), "--list-passes"]) == 1
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("[xdsl.universe]\nbad = no_such_module:U", "plugin 'bad' (no_such_module:U)"),
        ("[xdsl.universe]\nbad = os:sep", "is not a Universe"),
        ("[neuronir.targets]\ntrn1 = elsewhere:TARGET", "two packages register a target"),
    ],
)
def test_broken_plugins_are_named(entry: str, message: str, tmp_path: Path) -> None:
    """An installed package that cannot be loaded is named, not shown as a traceback."""
    info = tmp_path / "bad-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry + "\n")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    done = subprocess.run(
        [*OPT, "--list-targets"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert message in done.stderr and "Traceback" not in done.stderr


def test_targets_can_be_loaded(tmp_path: Path) -> None:
    """A target of a --load file is listed, with its pipelines."""
    path = tmp_path / "target.py"
    path.write_text(
        "from dataclasses import replace\n"
        "from neuronir.targets.trn1 import TARGET\n"
        "TARGETS = [replace(TARGET, name='mine', description='of a file',"
        " pipelines={'default': 'cse', 'half': 'dce'})]\n"
    )
    command = [*OPT, "--load", str(path)]
    listed = subprocess.check_output([*command, "--list-targets"], cwd=ROOT, text=True)
    assert "mine  of a file\n" in listed
    listed = subprocess.check_output([*command, "--list-pipelines"], cwd=ROOT, text=True)
    assert "@mine = cse\n" in listed and "@mine:half = dce\n" in listed
