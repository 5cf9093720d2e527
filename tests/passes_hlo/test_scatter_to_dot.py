"""Scatters that add rows, as dots with ones and zeros: sums, infinities, places outside."""

from typing import Any

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.acceptance.programs import decoded
from tests.oracle import run_xla
from tests.passes_hlo.helpers import program, run_passes

RNG = np.random.default_rng(0)
NUMBERS = (
    "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
    "index_vector_dim=1"
)
PASS = "hlo-scatter-to-dot"


def scatter(table: int, width: int, count: int, dtype: str = "f32", zeros: bool = False) -> str:
    operand = f"x = {dtype}[{table},{width}] parameter(2)"
    if zeros:
        operand = f"z = {dtype}[] constant(0)\n  "
        operand += f"x = {dtype}[{table},{width}] broadcast(z), dimensions={{}}"
    return f"""HloModule m

f {{
  a = {dtype}[] parameter(0)
  b = {dtype}[] parameter(1)
  ROOT c = {dtype}[] add(a, b)
}}

ENTRY e {{
  i = s32[{count},1] parameter(0)
  u = {dtype}[{count},{width}] parameter(1)
  {operand}
  ROOT r = {dtype}[{table},{width}] scatter(x, i, u), {NUMBERS}, to_apply=f
}}
"""


def arguments(table: int, width: int, count: int) -> list[Any]:
    """Numbers with many equal rows, some outside."""
    numbers = RNG.integers(-1, min(table, count // 3) + 1, (count, 1)).astype(np.int32)
    numbers[0] = table  # outside
    updates = RNG.standard_normal((count, width), dtype=np.float32)
    return [numbers, updates, RNG.standard_normal((table, width), dtype=np.float32)]


def names(text: str) -> list[str]:
    return [op.name for op in run_passes(program(text), PASS).walk()]


def judge(text: str, args: list[Any], tolerance: float = 1e-6) -> None:
    """The rewritten program agrees with XLA, as do both ways through the compiler."""
    given = args[: 3 if "parameter(2)" in text else 2]
    (want,) = (np.asarray(x) for x in run_xla(text, given))
    (found,) = interpret(run_passes(program(text), PASS), given)
    np.testing.assert_allclose(np.asarray(found), want, rtol=tolerance, atol=tolerance)
    machine = get_target("trn1").machine
    for tiling in ("always", "never"):
        options = CompileOptions(auto_cast="matmult", tiling=tiling)
        outputs = run(
            decoded(compile_text(text, "trn1", options)), given, machine, Options(races=True)
        ).outputs
        np.testing.assert_allclose(np.asarray(outputs[0]), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("table", "width", "count", "zeros", "kinds"),
    [
        (200, 16, 300, False, {"hlo.dot"}),
        (200, 16, 300, True, {"hlo.dot"}),
        (20000, 16, 200, False, {"hlo.dot", "hlo.gather", "hlo.scatter"}),
        (20000, 16, 200, True, {"hlo.dot", "hlo.scatter"}),
        pytest.param(300, 1, 3001, False, {"hlo.dot"}, marks=pytest.mark.slow),
    ],
    ids=["few rows", "few rows, zeros", "many rows", "many rows, zeros", "quotients"],
)
def test_sums_are_those_of_fp32(
    table: int, width: int, count: int, zeros: bool, kinds: set[str]
) -> None:
    """Of few rows by their places, of many rows by updates of equal places."""
    text = scatter(table, width, count, zeros=zeros)
    assert {"hlo.dot", "hlo.gather", "hlo.scatter"} & set(names(text)) == kinds
    judge(text, arguments(table, width, count), 4e-6)


@pytest.mark.parametrize("table", [200, 20000])
def test_infinities_reach_their_rows_only(table: int) -> None:
    args = arguments(table, 16, 300)
    numbers, updates = args[0], args[1]
    numbers[:8, 0] = [1, 1, 2, 3, 3, 4, -5, 5]
    updates[0, 2], updates[2, 3], updates[3, 4], updates[4, 4] = np.inf, -np.inf, np.inf, -np.inf
    updates[5, 5], updates[6, 6], updates[7, 7] = np.nan, np.inf, 3e38
    with np.errstate(invalid="ignore"):
        judge(scatter(table, 16, 300), args, 4e-6)


def test_infinities_and_large_values_with_quotients() -> None:
    """The largest numbers do not overflow where they are taken apart."""
    args = arguments(300, 1, 3001)
    numbers, updates = args[0], args[1]
    numbers[numbers < 9] = 9
    numbers[:8, 0] = [1, 1, 2, 3, 4, 5, 6, 7]
    largest = np.finfo(np.float32).max
    updates[:8, 0] = [np.inf, -np.inf, np.inf, np.nan, largest, -largest, 1e-38, 3.39e38]
    args[2][:9] = 0
    with np.errstate(invalid="ignore"):
        judge(scatter(300, 1, 3001), args, 4e-6)


def test_unique_rows_need_no_sums() -> None:
    text = scatter(40000, 16, 200).replace("to_apply", "unique_indices=true, to_apply")
    assert "hlo.dot" not in names(text) and "hlo.gather" in names(text)
    args = arguments(40000, 16, 200)
    args[0] = RNG.permutation(40000)[:200].reshape(200, 1).astype(np.int32)
    judge(text, args)


@pytest.mark.parametrize(
    "text",
    [
        scatter(50, 16, 3),
        scatter(200, 16, 300).replace("add(a, b)", "maximum(a, b)"),
        scatter(200, 16, 300).replace("f32", "s32"),
    ],
    ids=["few updates", "maximum", "integers"],
)
def test_other_scatters_stay(text: str) -> None:
    assert "hlo.dot" not in names(text)


@pytest.mark.parametrize("number", ["1", "-0.25", "inf", "nan"])
@pytest.mark.parametrize(("count", "table"), [(3000, 256), (2999, 37)])
def test_equal_updates_are_counted(number: str, count: int, table: int) -> None:
    """As XLA, which drops indices outside; one dot is enough."""
    single = NUMBERS.replace("update_window_dims={1}", "update_window_dims={}")
    text = f"""HloModule m

f {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}}

ENTRY e {{
  z = f32[] constant(0)
  x = f32[{table}] broadcast(z), dimensions={{}}
  i = s32[{count},1] parameter(0)
  n = f32[] constant({number})
  u = f32[{count}] broadcast(n), dimensions={{}}
  ROOT r = f32[{table}] scatter(x, i, u), {single}, to_apply=f
}}
"""
    places = np.random.default_rng(3).integers(-9, table, (count, 1)).astype(np.int32)
    places[places == 5] = table  # none
    judge(text, [places])
    (found,) = interpret(run_passes(program(text), PASS), [places])
    np.testing.assert_array_equal(np.signbit(np.asarray(found)[5]), False)


@pytest.mark.parametrize(
    ("table", "rest", "count", "kinds"),
    [
        ((20, 15), (6,), 900, {"hlo.dot"}),
        ((20, 15), (), 2000, {"hlo.dot"}),
        ((300, 100), (24,), 200, {"hlo.dot", "hlo.gather", "hlo.scatter"}),
    ],
    ids=["rows", "elements", "many rows"],
)
def test_several_indices_choose_a_row(
    table: tuple[int, ...], rest: tuple[int, ...], count: int, kinds: set[str]
) -> None:
    """In any order; an update is dropped if one of its indices is outside."""
    dims, rows = ",".join(map(str, (*table, *rest))), ",".join(map(str, (count, *rest)))
    text = f"""HloModule m

f {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}}

ENTRY e {{
  i = s32[{count},2] parameter(0)
  u = f32[{rows}] parameter(1)
  x = f32[{dims}] parameter(2)
  ROOT r = f32[{dims}] scatter(x, i, u), update_window_dims={{{"1" if rest else ""}}}, \
inserted_window_dims={{0,1}}, scatter_dims_to_operand_dims={{1,0}}, index_vector_dim=1, to_apply=f
}}
"""
    assert {"hlo.dot", "hlo.gather", "hlo.scatter"} & set(names(text)) == kinds
    limits = np.array([table[1], min(table[0], 20)]) + 1
    places = RNG.integers(-1, limits, (count, 2)).astype(np.int32)
    places[:9] = [3, 4]
    updates = RNG.standard_normal((count, *rest), dtype=np.float32)
    judge(text, [places, updates, RNG.standard_normal((*table, *rest), dtype=np.float32)], 4e-6)
