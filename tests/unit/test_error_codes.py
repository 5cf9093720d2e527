"""The table of error codes has every code that the sources use, and no other."""

import re
from collections.abc import Iterator
from pathlib import Path

from neuronir.diagnostics.codes import CODES

ROOT = Path(__file__).resolve().parents[2]
_CODE = re.compile(r'"((?:NIR|NCC)_[A-Z_]*[A-Z](?:\d{3})?)"|\[((?:NIR|NCC)_[A-Z]+\d*)\]')
NUMBERED = {f"NIR_NEFF{n:03d}" for n in range(1, 10)}
"""Codes that the reader of binaries makes from numbers."""
PREFIXES = {"NCC_", "NCC_EOOM", "NIR_LOW", "NIR_NEFF", "NIR_NPZ", "NIR_TIL"}
"""Beginnings of codes, which the driver and the status codes of the runtime compare with."""


def _used() -> Iterator[str]:
    for folder in ("neuronir", "dialects", "passes", "targets"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name != "codes.py":
                for match in _CODE.finditer(path.read_text()):
                    yield match[1] or match[2]


def test_every_code_is_in_the_table() -> None:
    assert set(_used()) - CODES.keys() - PREFIXES == set()


def test_every_row_of_the_table_is_used() -> None:
    assert CODES.keys() - set(_used()) - NUMBERED == set()


def test_rows_are_phrases() -> None:
    """Cause and action are phrases without a full stop, and the codes are sorted."""
    assert list(CODES) == sorted(CODES)
    for code, texts in CODES.items():
        assert all(texts), code
        assert not any(text.removesuffix("...").endswith(".") for text in texts), code
