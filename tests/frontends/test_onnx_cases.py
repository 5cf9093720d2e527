"""The ONNX backend tests: on the reference interpreter all, on the simulated trn1 some (all in the
slow tests), against what onnx_cases.json says of each."""

import pytest

from tests.frontends.onnx_cases import (
    Case,
    all_excluded,
    excluded,
    folder_cases,
    node_cases,
    outcome,
    record,
)

EVERY = 60
"""One in so many cases is compiled for trn1 in the fast tests."""


def kept() -> list[Case]:
    left_out = record()["excluded"]
    return [case for case in node_cases() if case.name not in left_out]


def differences(cases: list[Case], device: str) -> list[str]:
    """Cases that do not come out as recorded; a wrong result never is."""
    recorded = record()[device]
    found = []
    for case in cases:
        got, wanted = outcome(case, device), recorded.get(case.name, "right")
        if got != wanted:
            found.append(f"{case.name}: {got} (recorded: {wanted})")
    return found


def test_the_record() -> None:
    """Excluded are those whose operators or types say so; what is left passes nearly always, and
    is never wrong."""
    known = record()
    assert all_excluded(node_cases()) == known["excluded"]
    for device, least in (("CPU", 0.95), ("TRN1", 0.90)):
        bad = known[device]
        assert all(text.startswith("refused: ") for text in bad.values())
        assert 1 - len(bad) / len(kept()) >= least
        plain = [case for case in kept() if not case.name.endswith("_expanded")]
        assert 1 - sum(case.name in bad for case in plain) / len(plain) >= least


def test_node_cases_on_the_interpreter() -> None:
    assert not differences(kept(), "CPU")


def test_some_node_cases_on_trn1() -> None:
    assert not differences(kept()[::EVERY], "TRN1")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_all_node_cases_on_trn1(part: int) -> None:
    assert not differences(kept()[part::10], "TRN1")


@pytest.mark.parametrize("kind", ["simple", "pytorch-operator", "pytorch-converted"])
def test_cases_in_files(kind: str) -> None:
    cases = [case for case in folder_cases(kind) if excluded(case.model) is None]
    assert cases
    wrong = {case.name: got for case in cases if (got := outcome(case, "CPU")) != "right"}
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["simple", "pytorch-operator", "pytorch-converted"])
def test_cases_in_files_on_trn1(kind: str) -> None:
    cases = [case for case in folder_cases(kind) if excluded(case.model) is None]
    bad = {case.name: got for case in cases if (got := outcome(case, "TRN1")) != "right"}
    assert not {name for name, got in bad.items() if not got.startswith("refused: ")}
    assert len(bad) <= len(cases) / 10, bad
