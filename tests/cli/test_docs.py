"""The commands in the documentation give what the documentation shows."""

import os
import sys
from pathlib import Path

import pytest

from tests.cli.markdown import run_page
from tools.reference.pages import DOCS
from tools.reference.pages import pages as generated_pages

ROOT = Path(__file__).resolve().parents[2]


PAGES = (
    "architecture.md",
    "getting-started.md",
    "jax.md",
    "neuron-cc.md",
    "nc-dialect.md",
    "neuron-opt.md",
    "onnx.md",
    "tensorflow.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, tmp_path: Path) -> None:
    """In an empty folder, with our programs first on the path."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = dict(os.environ, PYTHONPATH=str(ROOT), PATH=programs)
    assert run_page(ROOT / "docs" / page, ROOT, tmp_path, environment) > 0


def test_generated_pages_are_up_to_date() -> None:
    """`make docs` has run since a pass, op, option, report key or error code changed."""
    pages = generated_pages()
    stale = [name for name, text in pages.items() if (DOCS / name).read_text() != text]
    assert not stale, "run `make docs`"
