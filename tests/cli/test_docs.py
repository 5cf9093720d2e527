"""The commands in the documentation give what the documentation shows."""

import os
import sys
from pathlib import Path

import pytest

from tests.cli.markdown import run_page

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["neuron-opt.md"])
def test_page(page: str, tmp_path: Path) -> None:
    """In an empty folder, with our programs first on the path."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = dict(os.environ, PYTHONPATH=str(ROOT), PATH=programs)
    assert run_page(ROOT / "docs" / page, ROOT, tmp_path, environment) > 0
