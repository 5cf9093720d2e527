"""Where the corpus of real models is, for the tests that read it."""

from pathlib import Path

import pytest

CORPUS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpus"


def corpus_dir() -> Path:
    """The corpus folder; skips the test, saying so, when it is absent."""
    if not CORPUS.is_dir():
        pytest.skip("the model corpus ../shared/corpus is absent")
    return CORPUS
