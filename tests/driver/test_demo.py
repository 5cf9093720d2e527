"""The example that `make demo` runs: a small BERT, with and without bound weights."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from neuronir.cli import neuron_sim, neuronx_cc
from neuronir.dialects.support.npz import Array, load_npz, npz_bytes
from neuronir.driver import compile_file
from neuronir.targets.neff.reader import read_neff

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MODEL = str(EXAMPLES / "bert_tiny.hlo")
INPUTS = str(EXAMPLES / "bert_tiny_inputs.npz")
EXPECTED = str(EXAMPLES / "bert_tiny_expected.npz")
ARG40 = "a_1_.1"


def split(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run the script as a user does."""
    return subprocess.run(
        [sys.executable, str(EXAMPLES / "split_args.py"), MODEL, INPUTS, *words],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(EXAMPLES.parent)},
        check=False,
    )


def test_demo(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    neff = str(tmp_path / "bert.neff")
    base = ["compile", MODEL, "--framework", "XLA", "--target", "trn1", "--output", neff]
    assert neuronx_cc.main(base) == 0
    run = ["run", neff, "--inputs", INPUTS, "--expect", EXPECTED]
    assert neuron_sim.main([*run, "--check-races"]) == 0
    shown = capfd.readouterr()
    assert "all outputs agree" in shown.out and "roofline" in shown.out
    assert shown.err == ""


def test_a_lost_parameter_and_a_noisy_reference_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    neff = str(tmp_path / "bert.neff")
    compile_file(MODEL, "trn1").write(neff)
    inputs, expected = load_npz(INPUTS), load_npz(EXPECTED)
    lost = tmp_path / "lost.npz"  # without the bias of an attention's output
    lost.write_bytes(npz_bytes(inputs | {"arg7": np.zeros_like(inputs["arg7"])}))
    run = ["run", neff, "--no-timing"]
    assert neuron_sim.main([*run, "--inputs", str(lost), "--expect", EXPECTED]) == 1
    assert "NIR_SIM032" in capfd.readouterr().err
    rng = np.random.default_rng(0)
    noisy = tmp_path / "noisy.npz"
    noisy.write_bytes(npz_bytes({name: _noisy(a, 0.15, rng) for name, a in expected.items()}))
    assert neuron_sim.main([*run, "--inputs", INPUTS, "--expect", str(noisy)]) == 1


def _noisy(array: Array, share: float, rng: np.random.Generator) -> Array:
    """With noise of a share of the array's norm."""
    noise = rng.standard_normal(array.shape)
    scale = share * np.linalg.norm(array) / np.linalg.norm(noise)
    return (array + scale * noise).astype(array.dtype)


def test_demo_with_weights(tmp_path: Path) -> None:
    weights, data, neff = (str(tmp_path / n) for n in ("w.npz", "d.npz", "bert.neff"))
    done = split("--weights-to", weights, "--data-to", data, "--data", "arg39", ARG40)
    assert done.returncode == 0, done.stderr
    base = ["compile", MODEL, "--framework", "XLA", "--target", "trn1", "--output", neff]
    assert neuronx_cc.main([*base, "--weights", weights]) == 0
    inputs = [v.index for v in read_neff(neff).variables if v.kind == "input"]
    assert set(inputs) <= {39, 40}
    for arrays in (data, INPUTS):
        assert neuron_sim.main(["run", neff, "--inputs", arrays, "--expect", EXPECTED]) == 0


def test_split_refuses_unknown_names(tmp_path: Path) -> None:
    outputs = ["--weights-to", str(tmp_path / "w"), "--data-to", str(tmp_path / "d")]
    done = split(*outputs, "--data", "arg99")
    assert done.returncode == 1
    assert "no entry parameter 'arg99'" in done.stderr
    assert not list(tmp_path.iterdir())


def test_same_bytes_twice_and_a_real_round_trip(tmp_path: Path) -> None:
    result = compile_file(MODEL, "trn1")
    result.write(tmp_path / "a")
    compile_file(MODEL, "trn1").write(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    # A NaN among the parameters differs from itself: compare what is made of the program read.
    decoded = replace(result, program=read_neff(tmp_path / "a"))
    decoded.write(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()
