"""The interpreter on the corpus's whole programs, against XLA's results."""

from pathlib import Path

import pytest

from tests.corpus import CORPUS, program_args, program_reference
from tests.interpreter.support import judge

# Seconds each, for their weights.
_LARGE = {
    "hf_bert_base",
    "hf_distilbert",
    "hf_gpt2_small",
    "hf_resnet50",
    "hf_vit_b16",
    "bert_odd_h760_a10_s120",
    "resnet50_200x200",
}


def _programs() -> list[object]:
    paths = [
        p for folder in ("core", "ops", "odd") for p in (CORPUS / "hlo" / folder).glob("*.hlo")
    ]
    return [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in _LARGE else [])
        for path in sorted(paths)
    ]


@pytest.mark.parametrize("path", _programs())
def test_program_agrees_with_xla(path: Path) -> None:
    report = judge(path.read_text(), program_args(path), program_reference(path), path.name)
    assert report.ok, report.render()


def _optimised() -> list[object]:
    paths = sorted((CORPUS / "hlo" / "optimised").glob("*.opt.hlo"))
    return [pytest.param(path, id=path.name) for path in paths]


@pytest.mark.parametrize("path", _optimised())
def test_optimised_program_agrees_with_the_original(path: Path) -> None:
    # Fusions, layouts and bitcasts mean the same as the program that they were made from.
    name = path.name.removesuffix(".opt.hlo")
    (original,) = CORPUS.glob(f"hlo/*/{name}.hlo")
    report = judge(path.read_text(), program_args(original), program_reference(original), path.name)
    assert report.ok, report.render()
