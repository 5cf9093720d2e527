"""docs/writing-a-target.md, walked through with the plugin installed beside NeuronIR."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import load_npz, npz_bytes, unpack
from neuronir.targets.neff.reader import read_neff
from tests.cli.markdown import run_page
from tests.cli.plugins import ROOT, install
from tests.oracle import run_xla

EXAMPLE = ROOT / "examples" / "toy_target"
MODEL = ROOT / "tests" / "corpus" / "hlo" / "core" / "mlp.hlo"
SHAPES = [(512,), (784, 512), (256,), (512, 256), (10,), (256, 10), (32, 784)]


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A copy of the example, and the environment in which it is installed, without a network."""
    return install(EXAMPLE, tmp_path_factory.mktemp("plugin"))


def test_the_page_is_true(plugin: tuple[Path, dict[str, str]]) -> None:
    """Every command gives what the page shows, every excerpt is in the example."""
    folder, environment = plugin
    page = ROOT / "docs" / "writing-a-target.md"
    assert run_page(page, EXAMPLE, folder, environment) >= 7


def _run(environment: dict[str, str], program: str, *arguments: str) -> str:
    command = [sys.executable, "-m", f"neuronir.cli.{program}", *arguments]
    return subprocess.check_output(command, env=environment, text=True, timeout=120)


def test_three_layers_that_do_not_fit_the_scratchpad_agree_with_xla(
    plugin: tuple[Path, dict[str, str]],
) -> None:
    folder, environment = plugin
    rng = np.random.default_rng(3)
    arguments = [rng.standard_normal(s, np.float32) for s in SHAPES]
    named: dict[str, Any] = {f"arg{i}": a for i, a in enumerate(arguments)}
    np.savez(folder / "in.npz", **named)
    binary, outputs = str(folder / "mlp3.neff"), str(folder / "out.npz")
    options = ["--framework", "XLA", "--target", "toy1", "--output", binary]
    _run(environment, "neuronx_cc", "compile", str(MODEL), *options)
    files = ["--inputs", str(folder / "in.npz"), "--outputs", outputs]
    assert "toy1" in _run(environment, "neuron_sim", "run", binary, "--check-races", *files)
    (expected,) = run_xla(MODEL.read_text(), arguments)
    got = np.load(outputs)["out0"]
    assert np.abs(got - expected).max() < 1e-2 * np.abs(expected).max()


BF16 = """HloModule m
ENTRY e {
  x = bf16[16,64] parameter(0)
  w = bf16[64,64] parameter(1)
  a = bf16[16,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = bf16[16,64] add(a, a)
  ROOT y = bf16[16,64] dot(b, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


def test_results_have_their_own_type(plugin: tuple[Path, dict[str, str]]) -> None:
    """Products and sums of bf16 are bf16, also those that the next product reads."""
    folder, environment = plugin
    rng = np.random.default_rng(3)
    bf16 = ml_dtypes.bfloat16
    arguments = [rng.standard_normal(s, np.float32).astype(bf16) for s in ((16, 64), (64, 64))]
    named = {f"arg{i}": array for i, array in enumerate(arguments)}
    (folder / "bf16.npz").write_bytes(npz_bytes(named))
    (folder / "bf16.hlo").write_text(BF16)
    binary, outputs = str(folder / "bf16.neff"), str(folder / "bf16_out.npz")
    options = ["--framework", "XLA", "--target", "toy1", "--output", binary]
    _run(environment, "neuronx_cc", "compile", str(folder / "bf16.hlo"), *options)
    files = ["--inputs", str(folder / "bf16.npz"), "--outputs", outputs]
    _run(environment, "neuron_sim", "run", binary, "--check-races", *files)
    (expected,) = run_xla(BF16, arguments)
    got = unpack(load_npz(outputs), "out0").astype(np.float32)
    wanted = expected.astype(np.float32)
    assert np.abs(got - wanted).max() < 1e-2 * np.abs(wanted).max()


def test_its_files_are_refused_by_name_without_the_package(
    plugin: tuple[Path, dict[str, str]],
) -> None:
    folder, environment = plugin
    binary = str(folder / "other.neff")
    options = ["--framework", "XLA", "--target", "toy1", "--output", binary]
    _run(environment, "neuronx_cc", "compile", str(MODEL), *options)
    with pytest.raises(NeuronError, match="install the package of target 'toy1'") as error:
        read_neff(binary)
    assert error.value.code == "NIR_NEFF007"
