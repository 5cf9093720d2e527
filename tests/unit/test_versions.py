"""One version, and a changelog that knows it."""

import re
import tomllib
from pathlib import Path

from neuronir import __version__

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_semantic_and_in_one_place() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"] and "version" in project["project"]["dynamic"]


def test_the_changelog_has_its_sections() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    sections = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.M)
    assert sections[0] == ("Unreleased", "")
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", name) and date for name, date in sections[1:])
    kinds = set(re.findall(r"^### (.+)$", text, re.M))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
