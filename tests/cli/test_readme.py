"""README's commands use options that the programs have, and files that exist."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    "neuron-opt": "neuron_opt",
    "neuron-cache": "neuron_cache",
    "neuron-cc": "neuron_cc",
    "neuron-check": "neuron_check",
    "neuronx-cc": "neuronx_cc",
    "neuron-sim": "neuron_sim",
}


def _commands() -> list[list[str]]:
    text = (ROOT / "README.md").read_text().replace("\\\n", " ")
    indented = re.findall(r"^    ((?:neuron-opt|neuronx-cc|neuron-sim)\b.*)$", text, re.MULTILINE)
    return [shlex.split(line) for line in indented]


def _options_in_prose() -> set[str]:
    return set(re.findall(r"`(--[a-z-]+)", (ROOT / "README.md").read_text()))


def _help(program: str, *subcommand: str) -> str:
    command = [sys.executable, "-m", f"neuronir.cli.{MODULES[program]}", *subcommand, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("words", _commands(), ids=" ".join)
def test_command(words: list[str]) -> None:
    """Options are known, and inputs below examples/ are there."""
    subcommand = [w for w in words[1:2] if words[0] != "neuron-opt" and not w.startswith("-")]
    text = _help(words[0], *subcommand)
    for word in words[1:]:
        if word.startswith("--"):
            assert word.partition("=")[0] in text, word
        elif word.startswith("examples/"):
            assert (ROOT / word).exists(), word


def test_options_in_prose() -> None:
    """Every option that the text names exists."""
    text = _help("neuronx-cc", "compile") + _help("neuron-sim", "run") + _help("neuron-opt")
    text += _help("neuron-check")
    assert {option for option in _options_in_prose() if option not in text} == set()


def test_make_targets() -> None:
    """`make X` in the README is a target of the Makefile."""
    makefile = (ROOT / "Makefile").read_text()
    for name in set(re.findall(r"(?:`|    )make ([a-z-]+)", (ROOT / "README.md").read_text())):
        assert re.search(rf"^{name}:", makefile, re.MULTILINE), name


def test_linked_pages_exist() -> None:
    """Links between our pages lead somewhere."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for link in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
