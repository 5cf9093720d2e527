"""The examples on the pages of error codes print what the pages show."""

import importlib
from pathlib import Path

import pytest

from neuronir.diagnostics.codes import CODES
from tools.reference.error_conditions import CONDITIONS
from tools.reference.error_examples import EXAMPLES, needs, rerun
from tools.reference.error_messages import messages


@pytest.mark.parametrize("code", sorted(path.stem for path in EXAMPLES.glob("*.md")))
@pytest.mark.thin(3)
def test_example(code: str, tmp_path: Path) -> None:
    text = (EXAMPLES / f"{code}.md").read_text()
    for package in needs(text):
        pytest.importorskip(package)
    assert code in CODES
    assert f"[{code}]" in text
    importlib.invalidate_caches()
    assert rerun(text, tmp_path) == text


def test_each_code_has_an_example_or_says_when_it_arises() -> None:
    examples = {path.stem for path in EXAMPLES.glob("*.md")}
    assert examples | CONDITIONS.keys() == CODES.keys()


def test_messages_are_of_known_codes() -> None:
    assert messages().keys() <= CODES.keys()
    assert "the module has no entry function @main" in messages()["NIR_DRV002"]
    assert "resource '…' is not in the file" in messages()["NIR_HLO020"]
