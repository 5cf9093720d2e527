"""docs/features.md: each feature once, with a status that the page explains."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "features.md"
LAST = dict(
    A=17,
    B=46,
    C=13,
    D=32,
    E=8,
    F=36,
    G=28,
    H=16,
    I=4,
    J=37,
    K=9,
    L=8,
    M=5,
    N=9,
    O=7,
    P=11,
    Q=3,
    R=15,
)
"""The last number of each section of published features."""
ROW = re.compile(r"^\| ([A-R]\d\d[^|]*) \| ([^|]+) \| ([^|]+) \| ([^|]*)\|$", re.M)


def _identifiers(cell: str) -> list[str]:
    """`B15 to B20, B22` as single identifiers."""
    found: list[str] = []
    for part in cell.split(", "):
        first, _, last = part.partition(" to ")
        numbers = range(int(first[1:]), int((last or first)[1:]) + 1)
        found += [f"{first[0]}{n:02}" for n in numbers]
    return found


def test_each_feature_has_one_row() -> None:
    found = [i for row in ROW.finditer(PAGE.read_text()) for i in _identifiers(row[1])]
    numbered = [f"{s}{n:02}" for s, last in LAST.items() for n in range(1, last + 1)]
    assert sorted(found) == sorted(["G00", *numbered])


def test_what_works_has_evidence() -> None:
    wrong = [
        row[1]
        for row in ROW.finditer(PAGE.read_text())
        if re.match("yes|partly", row[3]) and not re.search(r"\w+/|\w\.toml", row[4])
    ]
    assert not wrong
