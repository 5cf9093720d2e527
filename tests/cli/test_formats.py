"""neuron-opt -t with formats of xDSL, which know nothing of most operations."""

from pathlib import Path

import pytest

from neuronir.cli import neuron_opt
from neuronir.frontends.hlo_text.target import HLOTextTarget

FUNC = """
func.func @f(%a: i32) -> i32 {
  func.return %a : i32
}
"""


@pytest.mark.parametrize("name", ["riscv-asm", "arm-asm", "x86-asm", "mps"])
def test_operation_without_text(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(FUNC)
    assert neuron_opt.main(["-t", name, str(path)]) == 1
    assert f"error: [NIR_FMT001] cannot print this as '{name}': " in capsys.readouterr().err


def test_fault_of_our_own_printer_is_internal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise AssertionError("planted")

    monkeypatch.setattr(HLOTextTarget, "emit", fail)
    path = tmp_path / "f.mlir"
    path.write_text(FUNC)
    assert neuron_opt.main(["-t", "hlo", str(path)]) == 70
    assert "internal error: AssertionError: planted" in capsys.readouterr().err
