"""Draw random sentences of everything that people read: `python -m tools.reader`.

They come from the pages, docstrings, comments, help texts and messages. A sentence passes if it
needs no second reading. The draw depends only on the sources and the seed.
"""

import argparse
import ast
import io
import random
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.reference.rules import text_of

ROOT = Path(__file__).parents[1]
_GENERATED = ("passes.md", "commands.md", "error-codes.md", "reference-", "operators-")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*])")
_FEWEST_WORDS = 5
_HELP = ("help", "description", "epilog")
_SAYING = ("error", "fail", "help", "note", "remark", "warn", "warning")
"""Functions whose texts users read, besides exceptions."""


def sentences() -> Iterator[tuple[str, str]]:
    """Each sentence with its file and line, pages first, in the order of the files."""
    at_the_root = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for page in [*at_the_root, *sorted((ROOT / "docs").glob("*.md"))]:
        if not page.name.startswith(_GENERATED):
            text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
            lines = (line for line in text.split("\n") if not line.startswith(("#", "    ", "<")))
            yield from _split(page.relative_to(ROOT).as_posix(), _cells_apart("\n".join(lines)))
    for folder in ("neuronir", "dialects", "passes", "targets"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                source = path.read_text()
                for line, text in (*_texts(ast.parse(source)), *_comments(source)):
                    yield from _split(f"{path.relative_to(ROOT)}:{line}", text)


def _cells_apart(page: str) -> str:
    """Make a paragraph of each cell of a table."""
    return re.sub(r"^\|.*$", lambda row: row[0].replace("|", "\n\n"), page, flags=re.MULTILINE)


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings, help texts and messages, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            if text := ast.get_docstring(node):
                yield getattr(node, "lineno", 1), text
        elif isinstance(node, ast.Call):
            yield from ((k.value.lineno, text_of(k.value)) for k in node.keywords if k.arg in _HELP)
            name = node.func.attr if isinstance(node.func, ast.Attribute) else None
            if isinstance(node.func, ast.Name):
                name = node.func.id
            if name and (name in _SAYING or name.endswith(("Error", "Exception", "Violation"))):
                yield from ((arg.lineno, text_of(arg)) for arg in node.args)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments, those of consecutive lines as one text."""
    first, last, lines = 0, 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or token.string.startswith(("# type:", "#!")):
            continue
        line = token.start[0]
        if lines and line != last + 1:
            yield first, " ".join(lines)
            lines = []
        first, last = first if lines else line, line
        lines.append(token.string.removeprefix("#").strip())
    if lines:
        yield first, " ".join(lines)


def _split(where: str, text: str) -> Iterator[tuple[str, str]]:
    for paragraph in re.split(r"\n\s*\n|(?:^|\n)\s*- ", text):
        if not re.match(r"\s{4}", paragraph):
            for sentence in _SENTENCE.split(" ".join(paragraph.split())):
                if len(sentence.split()) >= _FEWEST_WORDS:
                    yield where, sentence


def main(argv: Sequence[str] | None = None) -> int:
    """Print the drawn sentences, one for each line, with their locations."""
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
