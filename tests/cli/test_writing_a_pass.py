"""docs/writing-a-pass.md, walked through with the plugin installed beside NeuronIR."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.markdown import run_page
from tests.cli.plugins import ROOT, install

EXAMPLE = ROOT / "examples" / "outoftree"


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The example, installed without a network; the example of a single pass lies beside it."""
    folder, environment = install(EXAMPLE, tmp_path_factory.mktemp("plugin"))
    shutil.copy(ROOT / "examples" / "hard_tanh.py", folder)
    return folder, environment


def test_the_page_is_true(plugin: tuple[Path, dict[str, str]]) -> None:
    """Every command gives what the page shows, every excerpt is in the example."""
    folder, environment = plugin
    assert run_page(ROOT / "docs" / "writing-a-pass.md", folder, folder, environment) >= 5


def test_the_plugin_is_listed(plugin: tuple[Path, dict[str, str]]) -> None:
    """Dialect, pass and target appear under the plugin's name, with no edit of ours."""
    folder, environment = plugin

    def ask(option: str) -> str:
        command = [sys.executable, "-m", "neuronir.cli.neuron_opt", option]
        return subprocess.check_output(command, cwd=folder, env=environment, text=True, timeout=120)

    assert "outoftree:\n  toy-lower-scale  Replace toy.scale" in ask("--list-passes")
    assert "outoftree:\n  toy\n" in ask("--list-dialects")
    assert "@slow1:hlo = toy-lower-scale,hlo-inline," in ask("--list-pipelines")


def test_stock_xdsl_opt_runs_the_pass(plugin: tuple[Path, dict[str, str]]) -> None:
    """xDSL's own tool finds the plugin and NeuronIR through their entry points."""
    folder, environment = plugin
    source = folder / "unit.mlir"
    source.write_text(
        "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %y = toy.scale %x by 1.0 : f32 : tensor<2xf32>\n"
        "  func.return %y : tensor<2xf32>\n}\n"
    )
    command = [shutil.which("xdsl-opt", path=environment["PATH"]) or "xdsl-opt", str(source)]
    printed = subprocess.check_output(
        [*command, "-p", "toy-lower-scale,hlo-dce"], env=environment, text=True, timeout=120
    )
    assert "toy.scale" not in printed
    assert "func.return %x" in printed


def test_the_whole_compiler_takes_the_target(plugin: tuple[Path, dict[str, str]]) -> None:
    """neuronx-cc compiles for the plugin's target, and neuron-sim runs the binary on it."""
    folder, environment = plugin
    examples = ROOT / "examples"
    binary, outputs = folder / "bert.neff", folder / "out.npz"

    def run(program: str, *arguments: str) -> str:
        command = [sys.executable, "-m", f"neuronir.cli.{program}", *arguments]
        return subprocess.check_output(command, env=environment, text=True, timeout=120)

    model = str(examples / "bert_tiny.hlo")
    options = ["--framework", "XLA", "--target", "slow1", "--output", str(binary)]
    run("neuronx_cc", "compile", model, *options)
    files = ["--inputs", str(examples / "bert_tiny_inputs.npz"), "--outputs", str(outputs)]
    expected = ["--expect", str(examples / "bert_tiny_expected.npz")]
    assert "slow1" in run("neuron_sim", "run", str(binary), *files, *expected)
