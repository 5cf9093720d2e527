"""64-bit unsigned integers in pairs of u32: the results of 64 bits, without bounds on inputs."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.nc.machine import get_machine
from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.simulator.functional import Options, run
from tests.oracle import run_xla
from tests.passes_hlo.helpers import program, run_passes
from tests.passes_hlo.random_lines import RandomLines

Array = NDArray[Any]
_HEAD = """x32 = u32[6,2] parameter(0)
y32 = u32[6,2] parameter(1)
w = u32[6] parameter(2)
i = s32[6] parameter(3)
x = u64[6] bitcast-convert(x32)
y = u64[6] bitcast-convert(y32)
n = u64[6] iota(), iota_dimension=0
z = u64[6] convert(w)
s = u64[6] convert(i)"""


class Programs(RandomLines):
    """Random programs on u64 vectors from u32 and s32 ones."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, _HEAD.split("\n"), ["x", "y", "n", "z", "s"])

    def text(self) -> str:
        """A program that returns the bits of its last value."""
        for _ in range(self._random.randint(1, 6)):
            self._step()
        bits = f"ROOT r = u32[6,2] bitcast-convert({self._values[-1]})"
        body = "\n  ".join((*self._lines, bits))
        return f"HloModule wide\n\nENTRY main {{\n  {body}\n}}\n"

    def _step(self) -> None:
        a, b = self._pick(), self._pick()
        match self._random.randrange(8):
            case 0 | 1 | 2:
                names = "add subtract multiply maximum minimum and or xor".split()
                self._add(f"u64[6] {self._random.choice(names)}({a}, {b})")
            case 3:
                self._add(f"u64[6] not({a})")
            case 4:
                direction = self._random.choice("EQ NE LT LE GT GE".split())
                flag = self._add(f"pred[6] compare({a}, {b}), direction={direction}", kept=False)
                self._add(f"u64[6] select({flag}, {a}, {b})")
            case 5:
                amount = self._random.choice((0, 1, 7, 31, 32, 33, 63, 64, 90))
                scalar = self._add(f"u64[] constant({amount})", kept=False)
                amounts = self._add(f"u64[6] broadcast({scalar}), dimensions={{}}", kept=False)
                name = self._random.choice(("shift-left", "shift-right-logical"))
                self._add(f"u64[6] {name}({a}, {amounts})")
            case 6:
                kind = self._random.choice(("u32", "s32", "u8", "s16", "pred"))
                small = self._add(f"{kind}[6] convert({a})", kept=False)
                self._add(f"u64[6] convert({small})")
            case _:
                part = self._add(f"u64[3] slice({a}), slice={{[0:6:2]}}", kept=False)
                self._add(f"u64[6] concatenate({part}, {part}), dimensions={{0}}")


def drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Words with many zeros and ones, where carries begin and end."""
    edges = np.array([0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)
    words = rng.integers(0, 2**32, shape, dtype=np.uint32)
    return np.where(rng.random(shape) < 0.6, rng.choice(edges, shape), words)


@pytest.mark.parametrize("seed", range(40))
def test_results_are_those_of_64_bits(seed: int) -> None:
    text = Programs(seed).text()
    module = run_passes(program(text), "hlo-emulate-uint64,hlo-canonicalize,hlo-dce")
    assert "ui64" not in str(module), text
    rng = np.random.default_rng(seed)
    for _ in range(10):
        args: list[Array] = [drawn(rng, s) for s in ((6, 2), (6, 2), (6,), (6,))]
        args[3] = args[3].view(np.int32)
        wanted, found = interpret(program(text), args)[0], interpret(module, args)[0]
        np.testing.assert_array_equal(found, wanted, err_msg=text)
    if seed < 4:  # the interpreter is right
        np.testing.assert_array_equal(wanted, run_xla(text, args, quick=True)[0])


def emulated(body: str) -> str:
    text = program(f"ENTRY main {{\n{_HEAD}\n{body}\n}}\n")
    return str(run_passes(text, "hlo-emulate-uint64,hlo-canonicalize,hlo-dce"))


def test_values_that_fit_are_computed_in_32_bits() -> None:
    """Counters of a shape have no high half; a quotient of words is one of u32."""
    counters = emulated("k = u64[6] multiply(n, n)\nROOT r = f32[6] convert(k)")
    assert counters.count("hlo.multiply") == 1 and "compare" not in counters
    assert "ui64" not in emulated("q = u64[6] divide(z, n)\nROOT r = u32[6] convert(q)")


@pytest.mark.parametrize(
    "line",
    ["f32[6] convert(x)", "u64[6] divide(x, y)", "f64[6] bitcast-convert(x)"],
)
def test_what_is_left(line: str) -> None:
    """There is no answer that may be wrong: the op stays, and the targets refuse it."""
    assert "ui64" in emulated(f"ROOT r = {line}")


def test_arguments_and_results_keep_their_types() -> None:
    """The runtime passes the words of 64-bit arrays."""
    text = (
        "HloModule m\n\nENTRY e {\n s = u64[2] parameter(0)\n x = u64[] parameter(1)\n"
        " y = u64[] multiply(x, x)\n r = (u64[2], u32[4]) rng-bit-generator(s),"
        " algorithm=rng_three_fry\n n = u64[2] get-tuple-element(r), index=0\n"
        " b = u32[4] get-tuple-element(r), index=1\n"
        " ROOT t = (u64[2], u64[], u32[4]) tuple(n, y, b)\n}\n"
    )
    args = [np.array([2**64 - 5, 2**64 - 1], np.uint64), np.asarray(np.uint64(2**63 + 12345))]
    program_ = compile_text(text, "trn1", CompileOptions(tiling="never")).program
    assert program_ is not None
    found = run(program_, args, get_machine("trn1"), Options(races=True)).outputs
    for one, other in zip(found, run_xla(text, args, quick=True), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("opcode", ["divide", "remainder"])
def test_all_bits_of_a_division_of_words_by_zero(opcode: str) -> None:
    """The quotient has 64 ones, not 32."""
    text = f"""HloModule m

ENTRY main {{
  a = u32[4] parameter(0)
  b = u32[4] parameter(1)
  x = u64[4] convert(a)
  y = u64[4] convert(b)
  d = u64[4] {opcode}(x, y)
  ROOT r = u32[4,2] bitcast-convert(d)
}}
"""
    args: list[Array] = [np.array(v, np.uint32) for v in ([5, 0, 2**32 - 1, 7], [0, 0, 3, 9])]
    result = compile_text(text, "trn1", CompileOptions())
    assert result.program is not None
    (got,) = run(result.program, args, get_machine("trn1")).outputs
    np.testing.assert_array_equal(got, run_xla(text, args)[0])
