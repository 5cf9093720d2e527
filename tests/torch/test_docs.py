"""The examples of docs/pytorch.md give what the page shows."""

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.cli.markdown import run_page  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_page(tmp_path: Path) -> None:
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = dict(os.environ, PYTHONPATH=str(ROOT), PATH=programs)
    assert run_page(ROOT / "docs" / "pytorch.md", ROOT, tmp_path, environment) > 0
