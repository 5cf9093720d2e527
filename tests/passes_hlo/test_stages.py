"""Long reductions to a few elements, which would have a few partitions only."""

import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import at_hlo, entry

REDUCERS = {"add": "0", "maximum": "-inf", "minimum": "2.5", "multiply": "1"}


def _text(shape: str, dims: str, result: str, opcode: str, initial: str) -> str:
    body = f"a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] {opcode}(a, b)"
    head = f"fn {{\n  {body}\n}}\n"
    return entry(
        f"x = f32[{shape}] parameter(0)",
        f"i = f32[] {initial if '(' in initial else f'constant({initial})'}",
        f"t = f32[{shape}] tanh(x)",
        f"r = f32[{result}] reduce(t, i), dimensions={{{dims}}}, to_apply=fn",
    ).replace("\nENTRY", f"\n{head}\nENTRY")


CASES = (
    ("2,32,24,33", "1,2,3", "2"),
    ("32,24,33,2", "0,1,2", "2"),
    ("32,24,2,33", "0,1,3", "2"),
    ("5,8,3,41,43", "1,3,4", "5,3"),
    ("3,31,37,29", "1,2,3", "3"),  # no divisor but the dimension itself
    ("3,8209", "1", "3"),  # a prime: what the last part leaves
    ("2,50000", "1", "2"),
)


@pytest.mark.parametrize("opcode", ["add", "maximum"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_shapes(case: tuple[str, str, str], opcode: str) -> None:
    text = _text(*case, opcode, REDUCERS[opcode])
    assert str(at_hlo(text)).count('hlo.reduce"') + str(at_hlo(text)).count("hlo.reduce ") >= 2
    shape = tuple(map(int, case[0].split(",")))
    args = [np.random.default_rng(0).standard_normal(shape).astype(np.float32)]
    assert not failures(text, args, phases=("virtual", "binary"))


@pytest.mark.parametrize("opcode", REDUCERS)
@pytest.mark.parametrize("initial", ["", "constant(0.25)", "parameter(1)"])
def test_initial_values(opcode: str, initial: str) -> None:
    text = _text(*CASES[0], opcode, initial or REDUCERS[opcode])
    x = np.random.default_rng(0).standard_normal((2, 32, 24, 33))
    if opcode == "multiply":
        x = np.sign(x) * 9.0  # tanh: products of ones
    args = [x.astype(np.float32)]
    if "parameter" in initial:
        args.append(np.array(0.75, np.float32))
    assert not failures(text, args, phases=("virtual", "binary"))


@pytest.mark.parametrize("case", [("64,9000", "1", "64"), ("2,4096", "1", "2"), ("90000", "0", "")])
def test_left_alone(case: tuple[str, str, str]) -> None:
    """Rows enough, short rows, and one number, for which all partitions are used anyway."""
    module = str(at_hlo(_text(*case, "add", "0")))
    assert module.count('hlo.reduce"') + module.count("hlo.reduce ") == 1
