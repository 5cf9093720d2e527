"""Nothing hangs on names: under others, and without metadata, a model takes the same time."""

from pathlib import Path

import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.simulator.timing import simulate_timing
from tests.acceptance.programs import machine, model
from tests.acceptance.rename import renamed, without_metadata

EXAMPLE = Path(__file__).resolve().parents[2] / "examples"


def _cycles(text: str) -> tuple[float, list[str]]:
    program = compile_text(text, "trn1", CompileOptions()).program
    assert program is not None
    opcodes = [
        f"{function} {engine.name} {len(items)}"
        for function, streams in program.streams.items()
        for engine, items in streams.items()
    ]
    return simulate_timing(program, machine()).total_ns, opcodes


def _check(name: str) -> None:
    text = model(name).path.read_text()
    other = renamed(without_metadata(text))
    assert "metadata=" not in other
    assert "dot.1 " not in other
    assert _cycles(other) == _cycles(text)


@pytest.mark.parametrize("name", ["hf_bert_tiny", "lenet"])
def test_small(name: str) -> None:
    _check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hf_bert_base", "hf_resnet50", "lstm_scan"])
def test_large(name: str) -> None:
    _check(name)


def test_renaming_takes_all_names_but_no_opcode() -> None:
    text = (
        "HloModule m\n\nadd {\n  x = f32[] parameter(0)\n"
        '  add = f32[] add(x, x), metadata={op="{"}\n'
        "  ROOT call.2 = f32[] call(add), to_apply=add\n}\n"
    )
    assert renamed(without_metadata(text)) == (
        "HloModule another\n\nn2.1 {\n  n0.1 = f32[] parameter(0)\n  n2.1 = f32[] add(n0.1, n0.1)\n"
        "  ROOT n1.1 = f32[] call(n2.1), to_apply=n2.1\n}\n"
    )
