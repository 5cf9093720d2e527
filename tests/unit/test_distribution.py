"""The source archive holds what a clone holds."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKS = {f"neuronir/{name}" for name in ("dialects", "passes", "targets")}


def test_every_file_of_a_clone_is_in_the_archive(tmp_path: Path) -> None:
    """The tests and their corpus too; setup.py makes the links again."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("the sources are no clone")
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    here = {name for name in tracked if (ROOT / name).exists()}
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    archived = set((tmp_path / "neuronir.egg-info" / "SOURCES.txt").read_text().splitlines())
    assert here - archived == LINKS
