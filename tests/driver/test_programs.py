"""neuronx-cc and neuron-sim as programs."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from neuronir.cli import neuron_sim, neuronx_cc
from neuronir.dialects.support.npz import load_arrays, load_npz, npz_bytes
from neuronir.driver import compile_text
from neuronir.driver.judge import judge_compile
from neuronir.driver.phases import PHASES
from neuronir.driver.specification import specified_as
from neuronir.targets.neff.reader import read_neff
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run as simulate
from neuronir.targets.simulator.noise import judge_precision
from tests.driver.models import DENSE, dense_arguments, dense_result, write_model

ROOT = Path(__file__).resolve().parents[2]
BASE = ["--framework", "XLA", "--target", "trn1"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str, str]:
    """Model, inputs, reference, and the path of the binary to make."""
    return (*write_model(tmp_path), str(tmp_path / "x.neff"))


def compiled(files: tuple[str, str, str, str], *options: str) -> int:
    return neuronx_cc.main(["compile", files[0], *BASE, "--output", files[3], *options])


def test_compile_run_and_report(files: tuple[str, str, str, str], tmp_path: Path) -> None:
    assert compiled(files) == 0
    out, report, trace = (str(tmp_path / n) for n in ("o.npz", "r.json", "t.json"))
    run = ["run", files[3], "--inputs", files[1], "--expect", files[2], "--outputs", out]
    assert neuron_sim.main([*run, "--report", report, "--trace", trace, "--check-races"]) == 0
    (found,) = load_arrays(out, "out")
    assert np.abs(found - dense_result()).max() < 2e-2
    assert json.loads(Path(report).read_text())["total_time_us"] > 0
    assert json.loads(Path(trace).read_text())["traceEvents"]
    assert neuron_sim.main([*run, "--dma", "on_wait", "--order", "reversed"]) == 0


def test_mismatch_exits_1_and_says_where(
    files: tuple[str, str, str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert compiled(files) == 0
    wrong = dense_result()
    wrong[2, 5] += 1.0
    Path(files[2]).write_bytes(npz_bytes({"out0": wrong}))
    run = ["run", files[3], "--inputs", files[1], "--expect", files[2]]
    assert neuron_sim.main(run) == 1
    assert "first at [2, 5]" in capfd.readouterr().err
    assert neuron_sim.main([*run, "--rtol", "3"]) == 0


def test_model_is_compared_at_the_same_roundings(
    files: tuple[str, str, str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert compiled(files) == 0
    run = ["run", files[3], "--inputs", files[1], "--no-timing", "--model"]
    assert neuron_sim.main([*run, files[0], "--expect", files[2]]) == 0
    shown = capfd.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in shown] == [
        "compile",
        "all outputs agree with the interpreter on " + files[0],
        "precision",
        "all outputs agree with " + files[2],
    ]
    assert "rounding noise" in shown[2] and "rounding noise" not in shown[0]
    other = tmp_path / "other.hlo"
    other.write_text(Path(files[0]).read_text() + "\n")
    assert neuron_sim.main([*run, str(other)]) == 1
    assert "NIR_DRV010" in capfd.readouterr().err
    other.write_text("HloModule")
    assert neuron_sim.main([*run, str(other)]) == 1
    assert neuron_sim.main([*run[:-1], "--weights", files[1]]) == 2
    assert neuron_sim.main([*run[:-1], "--rtol", "1"]) == 2


def test_model_with_bound_weights(
    files: tuple[str, str, str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    weights = str(tmp_path / "w.npz")
    entries = load_npz(files[1])
    Path(weights).write_bytes(npz_bytes({"arg1": entries["arg1"]}))
    assert compiled(files, "--weights", weights) == 0
    run = ["run", files[3], "--inputs", files[1], "--no-timing", "--model", files[0]]
    assert neuron_sim.main([*run, "--weights", weights]) == 0
    assert neuron_sim.main(run) == 1
    assert "was compiled from other weights" in capfd.readouterr().err
    data = str(tmp_path / "d.npz")
    Path(data).write_bytes(npz_bytes({"arg0": entries["arg0"]}))
    assert neuron_sim.main([*run[:2], "--inputs", data, *run[4:], "--weights", weights]) == 1
    assert "NIR_SIM030" in capfd.readouterr().err


def test_a_fault_of_the_compiler_is_seen_at_the_same_roundings(
    files: tuple[str, str, str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    """A thousandth of the result is less than the noise of bf16, and more than that of fp32."""
    assert compiled(files) == 0
    entries = load_npz(files[1])
    entries["arg2"] = entries["arg2"] * np.float32(1.002)
    program = read_neff(files[3])
    specification = specified_as(program, files[0], {})
    machine = get_target("trn1").machine
    inputs = [entries[f"arg{v.index}"] for v in program.variables if v.kind == "input"]
    wrong = simulate(program, inputs, machine).outputs
    exact = load_npz(files[1])
    arguments = [exact[f"arg{i}"] for i in range(len(exact))]
    assert not judge_compile(specification, arguments, wrong).ok
    assert judge_precision(program, inputs, machine, wrong, {"out0": dense_result()}).ok


def test_simulator_needs_neither_passes_nor_frontends(files: tuple[str, str, str, str]) -> None:
    assert compiled(files) == 0
    blocker = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        for bad in ('passes', 'frontends', 'dialects.hlo', 'driver'):\n"
        "            if name.startswith('neuronir.' + bad):\n"
        "                raise ImportError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "from neuronir.cli.neuron_sim import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    commands = (
        ["run", files[3], "--inputs", files[1], "--expect", files[2]],
        ["disasm", files[3]],
        ["info", files[3]],
    )
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-c", blocker, *command],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout and not done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arg2": None}, "lacks arg2 ('b.4', f32[32])"),
        ({"arg2": np.zeros(31, np.float32)}, "[31]"),
        ({"arg2": np.zeros(32, np.float64)}, "float64"),
        ({"arg3": np.zeros(32, np.float32)}, "takes 3 arguments"),
    ],
)
def test_wrong_inputs(
    files: tuple[str, str, str, str],
    change: dict[str, np.ndarray | None],
    message: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert compiled(files) == 0
    arrays = {f"arg{i}": a for i, a in enumerate(dense_arguments())} | change
    Path(files[1]).write_bytes(npz_bytes({k: v for k, v in arrays.items() if v is not None}))
    assert neuron_sim.main(["run", files[3], "--inputs", files[1]]) == 1
    error = capfd.readouterr().err
    assert message in error and "Traceback" not in error


def test_bound_arguments_may_be_given(files: tuple[str, str, str, str], tmp_path: Path) -> None:
    _, w, b = dense_arguments()
    weights = tmp_path / "w.npz"
    weights.write_bytes(npz_bytes({"w.2": w, "arg2": b}))
    assert compiled(files, "--weights", str(weights)) == 0
    assert neuron_sim.main(["run", files[3], "--inputs", files[1], "--expect", files[2]]) == 0


def test_every_option_is_accepted_explained_or_refused(
    files: tuple[str, str, str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    accepted = [
        ["--auto-cast", "none", "--auto-cast", "all", "--auto-cast-type", "fp16"],
        ["-O1"],
        ["--target", "inf2"],
        ["--optlevel", "3", "--model-type", "generic"],
        ["--native-int64=disabled", "-lnc", "1", "--enable-mixed-precision-accumulation"],
    ]
    for options in accepted:
        assert compiled(files, *options) == 0
        assert capfd.readouterr().err == ""
    explained = [
        ["--model-type", "transformer"],
        ["--enable-fast-loading-neuron-binaries"],
        ["--tensorizer-options", "--enable-x --y"],
        ["--internal-hlo2tensorizer-options=--verify-hlo"],
        ["--enable-experimental-O1"],
        ["--pipeline", "compile", "SaveTemps"],
        ["--hbm-scratchpad-page-size=1024"],
        ["--distribution-strategy", "llm-training"],
    ]
    for options in explained:
        assert compiled(files, *options) == 0
        lines = capfd.readouterr().err.splitlines()
        name = options[0].split("=")[0]
        assert len(lines) == 1 and lines[0].startswith("warning: ") and name in lines[0]
    refused = [
        (["-lnc", "2"], "NCC_EARG001"),
        (["--native-int64", "enabled"], "--native-int64 enabled"),
        (["--auto-cast-type", "fp8_e5m2"], "fp8_e5m2"),
        (["--neuroncore-pipeline-cores", "33"], "trn1 has 32 cores"),
        (["--no-such-option"], "--no-such-option"),
        (["--target", "trn2"], "trn2"),
        (["--framework", "MXNET"], "MXNET"),
        (["--verbose", "loud"], "loud"),
    ]
    for options, text in refused:
        assert compiled(files, *options) != 0
        error = capfd.readouterr().err
        assert text in error and "Traceback" not in error


def test_levels_and_log(
    files: tuple[str, str, str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.txt"
    assert compiled(files, "--verbose", "info", "--logfile", str(log)) == 0
    captured = capfd.readouterr()
    assert "Running allocated" in captured.out and captured.err == ""
    assert "Compiler status PASS" in log.read_text()
    assert compiled(files, "--verbose=35", "--model-type", "transformer") == 0
    assert capfd.readouterr().err == ""
    assert not (tmp_path / "log-neuron-cc.txt").exists()


def test_failures_leave_nothing(
    files: tuple[str, str, str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path(files[0]).write_text(DENSE.replace("tanh(", "nonsense("))
    assert compiled(files) == 1
    assert neuronx_cc.main(["compile", str(tmp_path / "no.hlo"), *BASE]) == 1
    missing = str(tmp_path / "no" / "x.neff")
    assert neuronx_cc.main(["compile", files[0], *BASE, "--output", missing]) == 1
    assert "Traceback" not in capfd.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["dense.hlo", "in.npz", "ref.npz"]


def test_interrupt_leaves_no_file(files: tuple[str, str, str, str], tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "import neuronir.driver.result as c\n"
        "real = c.write_neff\n"
        "def write(*a):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    real(*a)\n"
        "c.write_neff = write\n"
        "from neuronir.cli.neuronx_cc import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "compile", files[0], *BASE, "--output", files[3]],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGINT
    assert "interrupted" in done.stderr and "Traceback" not in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["dense.hlo", "in.npz", "ref.npz"]


def test_damaged_binary(
    files: tuple[str, str, str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    compile_text(DENSE, "trn1").write(files[3])
    raw = bytearray(Path(files[3]).read_bytes())
    raw[3000] ^= 4
    Path(files[3]).write_bytes(raw)
    for command in (["run", files[3], "--timing-only"], ["disasm", files[3]], ["info", files[3]]):
        assert neuron_sim.main(command) == 1
        error = capfd.readouterr().err
        assert "[NIR_NEFF004] neff is invalid" in error and error.count("\n") == 1


def test_timing_only_refuses_what_needs_numbers(files: tuple[str, str, str, str]) -> None:
    assert compiled(files) == 0
    assert neuron_sim.main(["run", files[3], "--timing-only"]) == 0
    assert neuron_sim.main(["run", files[3], "--timing-only", "--inputs", files[1]]) == 0
    for option in (["--outputs", files[1]], ["--expect", files[1]], ["--check-races"]):
        assert neuron_sim.main(["run", files[3], "--timing-only", *option]) == 2
    assert neuron_sim.main(["run", files[3]]) == 2


def test_compile_to_writes_ir(files: tuple[str, str, str, str], tmp_path: Path) -> None:
    for phase in PHASES[:-1]:
        path = tmp_path / f"{phase}.mlir"
        assert compiled(files, "--compile-to", phase, "--output", str(path)) == 0
        assert f'neuronir.phase = "{phase}"' in path.read_text()
