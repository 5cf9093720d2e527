"""The list of planted faults fits the sources, and the runner tells caught from missed."""

from pathlib import Path

import pytest

from tests.planted.faults import Fault, chosen, read_faults
from tests.planted.run import try_faults

FAULTS = read_faults()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_no_fault_is_stale(fault: Fault) -> None:
    assert fault.problem() == ""


def test_faults_are_spread_over_the_compiler() -> None:
    assert len(FAULTS) >= 60
    folders = {"/".join(fault.file.split("/")[:2]) for fault in FAULTS}
    assert folders >= {
        "passes/hlo",
        "passes/lowering",
        "passes/nc",
        "dialects/hlo",
        "dialects/nc",
        "targets/encoding",
        "targets/neff",
        "targets/simulator",
        "neuronir/frontends",
    }


def test_faults_are_chosen_by_prefix() -> None:
    name = FAULTS[0].name
    assert chosen(FAULTS, []) == FAULTS
    assert chosen(FAULTS, [name[:-1]])[0] == FAULTS[0]
    with pytest.raises(ValueError, match="there is no fault 'nothing'"):
        chosen(FAULTS, ["nothing"])


@pytest.mark.slow
def test_runner(tmp_path: Path) -> None:
    source, tests = tmp_path / "sum.py", tmp_path / "test_sum.py"
    source.write_text("def total(a, b):\n    return a + b  # of both\n")
    tests.write_text("from sum import total\n\ndef test_total():\n    assert total(2, 2) == 4\n")
    (tmp_path / "test_endless.py").write_text(
        "from sum import total\n\ndef test_ends():\n    while total(2, 3) != 5:\n        pass\n"
    )

    def fault(name: str, old: str, new: str, path: str = "test_sum.py") -> Fault:
        return Fault(name, "sum.py", old, new, "", (path,))

    faults = [
        fault("minus", "a + b", "a - b"),
        fault("times", "a + b", "a * b"),
        fault("gone", "a // b", "a + b"),
        fault("comment", "of both", "of two"),
        fault("endless", "a + b", "a - b", "test_endless.py"),
    ]
    verdicts = list(try_faults(faults, tmp_path, 6.0, False))
    assert [(v.fault, v.status) for v in verdicts] == [
        ("minus", "caught"),
        ("times", "missed"),
        ("gone", "stale"),
        ("comment", "stale"),
        ("endless", "timeout"),
    ]
    assert verdicts[0].test == "test_sum.py::test_total"
    assert "a + b" in source.read_text()
