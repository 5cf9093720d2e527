"""The commands in the documentation give what the documentation shows."""

import os
import sys
from pathlib import Path

import pytest

from tests.cli.markdown import blocks, run_command, run_page
from tools.reference.pages import DOCS
from tools.reference.pages import pages as generated_pages

ROOT = Path(__file__).resolve().parents[2]


PAGES = (
    pytest.param("architecture.md", marks=pytest.mark.slow),
    "getting-started.md",
    pytest.param("jax.md", marks=pytest.mark.slow),
    pytest.param("neuron-cc.md", marks=pytest.mark.slow),
    "nc-dialect.md",
    "neuron-opt.md",
    pytest.param("onnx.md", marks=pytest.mark.slow),
    pytest.param("several-cores.md", marks=pytest.mark.slow),
    pytest.param("tensorflow.md", marks=pytest.mark.slow),
)
"""What the slow ones run, the tests of frontends, of many cores and of many compiles run, too."""


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, tmp_path: Path) -> None:
    """In an empty folder, with our programs first on the path."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = dict(os.environ, PYTHONPATH=str(ROOT), PATH=programs)
    assert run_page(ROOT / "docs" / page, ROOT, tmp_path, environment) > 0


OF_THE_DAY = {
    "profiling.md": {
        "neuron-sim run": "tensor computes products in fp32",
        "neuron-sim diff": "time of source ops on the critical path",
        "neuron-check": "all outputs agree with the interpreter on mlp.hlo",
        "not python": "first wrong: act (tanh, tensor<256x2048xf32>) at mlp.hlo:8",
    },
    "neuron-explore.md": {
        "neuron-explore mlp.hlo --list": "changed the IR",
    },
    "neuron-sim.md": {
        "not neuron-sim run log.neff --inputs in.npz --no-timing --nrt": "NUM_ERR (1003)",
        "not neuron-sim run log.neff --inputs in.npz --no-timing --check": "[NIR_SIM035] output",
    },
    "many-compiles.md": {
        "not neuronx-cc compile large.hlo": "[NCC_EOOM002] SBUF is too small",
        "not neuronx-cc compile mlp.hlo wide.hlo": "2 compiled, 1 from the cache, 1 failed, 0 lost",
        "neuron-sim sweep mlp.onnxtxt": "inferences/s on one core (batch 1024",
        "neuron_parallel_compile --cache-dir graphs sh": "Total graphs:",
        "neuron_parallel_compile --cache-dir steps python": "Total successful compilations: 2",
        "env NEURON_COMPILE_CACHE_URL=steps python train.py": "-2480",
        "neuron_parallel_compile --command analyze": "3 of 3 models supported",
        "neuron_parallel_compile --cache-dir graphs --command clean": "3 entries and 0 collected",
        "neuron-cache list": "2 entries",
        "neuron-cache show": "state: failed",
        "neuron-cache verify": "2 checked, 0 damaged",
        "neuron-cache clear --failed": "1 removed",
        "neuron-cache clear --limit": "0 removed",
    },
}
"""Pages whose outputs are of the day: commands must run and still say what the text is about."""


LONG = {"profiling.md", "many-compiles.md"}


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=[pytest.mark.slow] * (p in LONG)) for p in OF_THE_DAY]
)
def test_page_of_the_day(page: str, tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    pytest.importorskip("distributed")
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = dict(os.environ, PYTHONPATH=str(ROOT), PATH=programs)
    wanted = OF_THE_DAY[page]
    said = []
    for block in blocks(ROOT / "docs" / page):
        if block.what == "write":
            (tmp_path / block.name).write_text(block.text)
        for line in block.text.splitlines():
            if block.language != "console" or not line.startswith("$ "):
                continue
            line = line.removeprefix("$ ")
            phrase = next((text for key, text in wanted.items() if line.startswith(key)), "")
            assert phrase in block.text
            run_command(
                line, f"...\n...{phrase}...\n...\n" if phrase else "", tmp_path, environment
            )
            said.append(phrase)
    assert set(wanted.values()) <= set(said)


def test_generated_pages_are_up_to_date() -> None:
    """`make docs` has run since a pass, op, option, report key or error code changed."""
    pages = generated_pages()
    stale = [name for name, text in pages.items() if (DOCS / name).read_text() != text]
    assert not stale, "run `make docs`"
