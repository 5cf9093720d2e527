"""The repository needs nothing beside it, and the files that it cites are there."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = "benchmarks dialects docs examples lit neuronir passes targets tests .ci .github".split()
SOURCES = (".md", ".py", ".toml", ".mlir", ".hlo", ".yml", ".test", ".cfg", "")
GENERATED = {"build", "__pycache__", "node_modules"}
LARGE = 500_000

CITED = re.compile(
    r"(?<![\w./-])((?:benchmarks|dialects|docs|examples|lit|neuronir|passes|targets|tests)"
    r"/[\w./-]*\w\.(?:csv|hlo|json|md|mlir|npz|py|toml|txt))\b"
)
PAGE = re.compile(r"(?<![\w./-])([\w-]+\.md)\b")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
OUTWARDS = re.compile(r"\.parents\[(\d+)\]|((?:\.parent)+)\b(?!s)")


@cache
def _files() -> tuple[Path, ...]:
    """All files that people write; the links to the floors are not followed."""

    def found() -> Iterator[Path]:
        yield from (p for p in ROOT.iterdir() if p.is_file() and p.suffix in SOURCES)
        for folder in FOLDERS:
            for path in sorted((ROOT / folder).rglob("*")):
                parts = path.relative_to(ROOT).parts
                linked = parts[0] == "neuronir" and parts[1] in FOLDERS
                if not linked and not GENERATED.intersection(parts) and path.is_file():
                    yield path

    return tuple(path for path in found() if path.suffix in SOURCES and path.stat().st_size < LARGE)


@cache
def _text(path: Path) -> str:
    return path.read_text(errors="replace")


def test_nothing_refers_to_a_folder_beside_the_repository() -> None:
    beside = "shared" + "/"
    wrong = [str(p.relative_to(ROOT)) for p in _files() if beside in _text(p)]
    assert not wrong


def _leaves(path: Path, text: str) -> bool:
    """Whether a path that a Python file computes from its own place ends above the root."""
    depth = len(path.relative_to(ROOT).parts)
    for line in text.splitlines():
        if "__file__" in line:
            for match in OUTWARDS.finditer(line):
                steps = int(match[1]) + 1 if match[1] else match[2].count(".parent")
                if steps > depth:
                    return True
    return False


def test_no_path_leaves_the_repository() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for path in _files()
        if path.suffix == ".py" and path != Path(__file__) and _leaves(path, _text(path))
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("line", "leaves"),
    [
        ("Path(__file__).parents[2]", False),
        ("Path(__file__).parents[3]", True),
        ("Path(__file__).resolve().parent.parent.parent", False),
        ("Path(__file__).resolve().parent.parent.parent.parent", True),
    ],
)
def test_the_check_of_paths_sees_them(line: str, leaves: bool) -> None:
    assert _leaves(ROOT / "tests" / "unit" / "made_up.py", line) == leaves


def test_cited_files_exist() -> None:
    """A file that a comment, a docstring or a page names by its path is there: from the root, or
    in the tutorial from the root of its example."""
    roots = (ROOT, ROOT / "examples" / "outoftree", ROOT / "examples" / "toy_target")
    wrong = [
        f"{path.relative_to(ROOT)} cites {name}"
        for path in _files()
        for name in sorted(set(CITED.findall(_text(path))))
        if not any((root / name).exists() for root in roots)
    ]
    assert not wrong, "\n".join(wrong)


def test_cited_pages_exist() -> None:
    """A page that is cited by its name alone is in docs/, beside the file, or at the root."""
    wrong = [
        f"{path.relative_to(ROOT)} cites {name}"
        for path in _files()
        if "tests/corpus/" not in path.as_posix()
        for name in sorted(set(PAGE.findall(_text(path))))
        if not any((folder / name).exists() for folder in (ROOT / "docs", path.parent, ROOT))
    ]
    assert not wrong, "\n".join(wrong)


def test_links_of_pages_lead_somewhere() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} links {name}"
        for path in _files()
        if path.suffix == ".md"
        for name in sorted(set(LINK.findall(_text(path))))
        if not (path.parent / name).exists()
    ]
    assert not wrong, "\n".join(wrong)
