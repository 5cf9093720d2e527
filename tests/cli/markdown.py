"""Run the examples of a page of documentation, so that it stays true.

Fenced blocks that follow `<!-- write: NAME -->` become files, those that follow
`<!-- from: PATH -->` must occur in that file, and in `console` blocks the lines after a `$ command`
are its output, where a line `...` stands for any lines, and
`...` in a line for any text. `not COMMAND` must fail.
"""

import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"(?:<!-- (?P<what>write|from): (?P<name>\S+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: `what` is `write`, `from` or None."""

    what: str | None
    name: str
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for match in _FENCE.finditer(page.read_text()):
        yield Block(match["what"], match["name"] or "", match["language"], match["text"])


def run_page(page: Path, sources: Path, folder: Path, environment: Mapping[str, str]) -> int:
    """Do what the page says, in `folder`; the number of commands that ran."""
    commands = 0
    for block in blocks(page):
        if block.what == "write":
            (folder / block.name).write_text(block.text)
        elif block.what == "from":
            assert block.text in (sources / block.name).read_text(), f"{page}: {block.name} differs"
        elif block.language == "console":
            for command, expected in _commands(block.text):
                commands += 1
                run_command(command, expected, folder, environment)
    return commands


def _commands(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def run_command(command: str, expected: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Run a command in a folder, and compare its output."""
    words = shlex.split(command)
    fails = words[0] == "not"
    done = subprocess.run(
        words[fails:],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert (done.returncode != 0) == fails, f"$ {command}\n{done.stdout}"
    pattern = "".join(
        "(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
        for line in expected.splitlines()
    )
    assert re.fullmatch(pattern, done.stdout), f"$ {command}\n{done.stdout}\nexpected\n{expected}"
