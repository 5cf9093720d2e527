"""64-bit integers in 32 bits: within the bounds of the inputs results are those of 64 bits."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.hlo.narrow_int64 import INPUT_RANGES
from tests.passes_hlo.helpers import program, run_passes
from tests.passes_hlo.random_lines import RandomLines

Array = NDArray[Any]
COMBINE = {"sum": "add", "most": "maximum", "least": "minimum", "all": "multiply"}
REGIONS = "\n".join(
    f"{name} {{\n a = s64[] parameter(0)\n b = s64[] parameter(1)\n ROOT c = s64[] {op}(a, b)\n}}\n"
    for name, op in COMBINE.items()
)


def narrowed(body: str) -> ModuleOp:
    """A program whose entry has this body, after the pass."""
    return run_passes(program(f"{REGIONS}\nENTRY main {{\n{body}\n}}\n"), "hlo-narrow-int64")


def bounds(module: ModuleOp) -> dict[int, tuple[float, float]]:
    """The bounds of the inputs that have any."""
    found = module.attributes.get(INPUT_RANGES)
    result: dict[int, tuple[float, float]] = {}
    for key, pair in found.data.items() if isinstance(found, DictionaryAttr) else ():
        assert isinstance(pair, ArrayAttr)
        low, high = (float(n.data) for n in pair if isinstance(n, StringAttr))
        result[int(key)] = (low, high)
    return result


class Programs(RandomLines):
    """Random programs on two s64 vectors and one of floats."""

    def __init__(self, seed: int) -> None:
        lines = ["x = s64[6] parameter(0)", "y = s64[6] parameter(1)", "f = f32[6] parameter(2)"]
        super().__init__(seed, lines, ["x", "y"])

    def text(self) -> str:
        """The body of the entry."""
        self._add("s64[6] iota(), iota_dimension=0")
        for _ in range(self._random.randint(1, 7)):
            self._step()
        return "\n".join((*self._lines[:-1], f"ROOT {self._lines[-1]}"))

    def _step(self) -> None:
        a, b = self._pick(), self._pick()
        match self._random.randrange(9):
            case 0 | 1 | 2:
                names = "add subtract multiply divide remainder maximum minimum and or xor".split()
                self._add(f"s64[6] {self._random.choice(names)}({a}, {b})")
            case 3:
                self._add(f"s64[6] {self._random.choice(('negate', 'abs', 'sign', 'not'))}({a})")
            case 4:
                flag = self._add(f"pred[6] compare({a}, {b}), direction=LT", kept=False)
                self._add(f"s64[6] select({flag}, {a}, {b})")
            case 5:
                zero = self._add("s64[] constant(1)", kept=False)
                region = self._random.choice(list(COMBINE))
                part = self._add(
                    f"s64[] reduce({a}, {zero}), dimensions={{0}}, to_apply={region}", kept=False
                )
                self._add(f"s64[6] broadcast({part}), dimensions={{}}")
            case 6:
                small = self._add(f"s16[6] convert({a})", kept=False)
                self._add(f"s64[6] convert({small})")
            case 7:
                bound = self._add("f32[6] floor(f)", kept=False)
                self._add(f"s64[6] convert({bound})")
            case _:
                amount = self._add(f"s64[6] constant({{{', '.join('012345')}}})", kept=False)
                name = self._random.choice(("shift-left", "shift-right-arithmetic"))
                self._add(f"s64[6] {name}({a}, {amount})")


def drawn(rng: np.random.Generator, limits: tuple[float, float]) -> Array:
    """Numbers between limits, the limits themselves included."""
    low, high = limits
    edges = np.array([low, high, 0, 1, -1, high / 2])
    numbers = np.where(rng.random(6) < 0.5, edges, rng.uniform(low, high, 6))
    result: Array = np.clip(np.trunc(rng.permutation(numbers)), low, high)
    return result


@pytest.mark.parametrize("seed", range(40))
def test_results_are_those_of_64_bits(seed: int) -> None:
    body = Programs(seed).text()
    try:
        module = narrowed(body)
    except NeuronError as error:
        assert error.code == "NCC_ESPP004"
        return
    exact = program(f"{REGIONS}\nENTRY main {{\n{body}\n}}\n")
    found = bounds(module)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        whole = (-(2.0**31), 2.0**31 - 1)
        x, y, f = [drawn(rng, found.get(i, whole)) for i in range(3)]
        wide: list[Array] = [x.astype(np.int64), y.astype(np.int64), f.astype(np.float32)]
        if 2 in found and abs(wide[2]).max() > found[2][1]:
            continue  # rounded up
        narrow: list[Array] = [*(a.astype(np.int32) for a in wide[:2]), wide[2]]
        wanted, got = interpret(exact, wide)[0], interpret(module, narrow)[0]
        np.testing.assert_array_equal(got.astype(np.int64), wanted, err_msg=body)


def test_few_programs_are_refused() -> None:
    refused = 0
    for seed in range(200):
        try:
            narrowed(Programs(seed).text())
        except NeuronError:
            refused += 1
    assert refused < 20, refused


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("r = s64[4] subtract(one, x)", {0: 2**30}),
        ("r = s64[4] multiply(x, x)", {0: 2**15}),
        ("r = s64[4] minimum(x, one)", {}),
        ("r = s64[4] remainder(x, one)", {}),
        ("r = s64[4] and(x, one)", {}),
        ("r = s64[4] convert(f)", {1: 2**30}),
        ("r = s64[4] add(places, one)", {}),
        ("r = s64[] reduce(x, zero), dimensions={0}, to_apply=sum", {0: 2**29}),
        ("r = s64[] reduce(x, zero), dimensions={0}, to_apply=most", {}),
    ],
)
def test_bounds(line: str, wanted: dict[int, int]) -> None:
    """Powers of two below which nothing can leave 32 bits; none where nothing can anyway."""
    module = narrowed(
        "x = s64[4] parameter(0)\nf = f32[4] parameter(1)\nzero = s64[] constant(0)\n"
        "one = s64[4] constant({1, 1, 1, 1})\nplaces = s64[4] iota(), iota_dimension=0\n"
        f"ROOT {line}"
    )
    found = {i: round(high) for i, (_, high) in bounds(module).items()}
    assert found == {i: high if i == 1 else high - 1 for i, high in wanted.items()}


def test_what_no_bounds_help() -> None:
    """The op is named; there is no answer that may be wrong."""
    body = "x = s64[4] parameter(0)\nc = s64[4] constant({2147483647, 1, 1, 1})\n"
    with pytest.raises(NeuronError, match=r"'r' \(hlo.add\).*may exceed 32 bits"):
        narrowed(body + "ROOT r = s64[4] add(c, c)")
    with pytest.raises(NeuronError, match="may exceed 32 bits"):
        narrowed("x = u64[4] parameter(0)\ny = u64[4] parameter(1)\nROOT r = u64[4] subtract(x, y)")


def test_constants_that_are_never_chosen() -> None:
    """The start of a maximum may be the least 64-bit integer."""
    least = f"x = s64[4] parameter(0)\nc = s64[] constant({-(2**63)})\n"
    reduced = "reduce(x, c), dimensions={0}, to_apply="
    module = narrowed(f"{least}ROOT r = s64[] {reduced}most")
    assert interpret(module, [np.array([3, -7, 5, 1], np.int32)])[0] == 5
    with pytest.raises(NeuronError, match="the constant does not fit"):
        narrowed(f"{least}ROOT r = s64[] {reduced}sum")
    with pytest.raises(NeuronError, match="the constant does not fit"):
        narrowed(f"{least}ROOT r = s64[] {reduced}least")
