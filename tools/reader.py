"""Draw random sentences of the documentation and the docstrings: `python -m tools.reader`.

A sentence passes if it needs no second reading. The draw depends only on the sources and the seed.
"""

import argparse
import ast
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
_GENERATED = ("passes.md", "commands.md", "error-codes.md", "reference-", "operators-")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*])")
_FEWEST_WORDS = 5


def sentences() -> Iterator[tuple[str, str]]:
    """Each sentence with its file and line, pages first, in the order of the files."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if not page.name.startswith(_GENERATED):
            text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
            lines = (
                line for line in text.split("\n") if not line.startswith(("|", "#", "    ", "<"))
            )
            yield from _split(str(page.relative_to(ROOT)), "\n".join(lines))
    for folder in ("neuronir", "dialects", "passes", "targets"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield from _docstrings(path)


def _docstrings(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        if text := ast.get_docstring(node):
            line = 1 if isinstance(node, ast.Module) else node.lineno
            yield from _split(f"{path.relative_to(ROOT)}:{line}", text)


def _split(where: str, text: str) -> Iterator[tuple[str, str]]:
    for paragraph in re.split(r"\n\s*\n|(?:^|\n)\s*- ", text):
        if not re.match(r"\s{4}", paragraph):
            for sentence in _SENTENCE.split(" ".join(paragraph.split())):
                if len(sentence.split()) >= _FEWEST_WORDS:
                    yield where, sentence


def main(argv: Sequence[str] | None = None) -> int:
    """Print the drawn sentences, one for each line, with their places."""
    parser = argparse.ArgumentParser(prog="python -m tools.reader", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw (default: 0)")
    parser.add_argument("--count", type=int, default=20, help="number of sentences (default: 20)")
    args = parser.parse_args(argv)
    found = list(sentences())
    drawn = random.Random(args.seed).sample(found, min(args.count, len(found)))
    for where, sentence in drawn:
        print(f"{where}: {sentence}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
