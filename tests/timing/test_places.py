"""Instructions that were written by hand are named by their place in the file."""

import pytest

from benchmarks.calibration.vector_add import vector_add
from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import simulate_timing


@pytest.mark.parametrize("phase", ["virtual", "ordered"])
def test_the_report_says_where_an_instruction_is_written(phase: str) -> None:
    text = vector_add(1, 128, 200).text(phase)
    options = CompileOptions(compile_from=phase)
    program = compile_text(text, "trn1", options, name="some/folder/add.mlir", kind="mlir").program
    assert program is not None
    lines = text.splitlines()
    expected = {
        f"add.mlir:{number}:{line.index('nc.') + 1}"
        for number, line in enumerate(lines, start=1)
        if "nc.dma" in line or "nc.tensor_tensor" in line
    }
    report = build_report(simulate_timing(program))
    assert {op["name"] for op in report["ops"]} == expected
