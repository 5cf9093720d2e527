"""The list of planted faults, read and checked against the sources."""

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("faults.toml")


@dataclass(frozen=True)
class Fault:
    """A replacement of `old` by `new` in `file`; `what` says what is wrong then.

    `tests` are the paths whose tests should see it, the nearest first: files or folders of tests/
    for pytest, of lit/ for lit.
    """

    name: str
    file: str
    old: str
    new: str
    what: str
    tests: tuple[str, ...]

    def planted(self, text: str) -> str:
        """The text of the file with the fault in it; ValueError where the fault is stale."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: `old` occurs {text.count(self.old)} times")
        return text.replace(self.old, self.new)

    def problem(self, root: Path = ROOT) -> str:
        """Why the fault cannot be planted, or nothing."""
        source = root / self.file
        if not source.is_file():
            return f"there is no file {self.file}"
        text = source.read_text()
        try:
            planted = self.planted(text)
            if ast.dump(ast.parse(planted)) == ast.dump(ast.parse(text)):
                return "it changes no code"
        except (ValueError, SyntaxError) as error:
            return str(error)
        missing = [path for path in self.tests if not (root / path).exists()]
        return f"there is no {missing[0]}" if missing else ""


def read_faults(path: Path = LIST) -> list[Fault]:
    """All faults of the list, in its order."""
    entries = tomllib.loads(path.read_text())
    return [
        Fault(name, **{**entry, "tests": tuple(entry["tests"])}) for name, entry in entries.items()
    ]


def chosen(faults: list[Fault], names: list[str]) -> list[Fault]:
    """The faults whose names begin with one of `names`; all where there are none.

    Raises ValueError for a name with which none begins.
    """
    for name in names:
        if not any(fault.name.startswith(name) for fault in faults):
            raise ValueError(f"there is no fault '{name}'")
    return [f for f in faults if not names or f.name.startswith(tuple(names))]
