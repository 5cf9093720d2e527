"""Scatters of whole rows on a machine without computed addresses: XLA gives the same numbers."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.pass_runner import RunFailure
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.acceptance.programs import decoded
from tests.oracle import run_xla
from tests.passes_hlo.helpers import opcodes, program, run_passes

PASS = "hlo-scatter-to-dot{target=inf1}"
RNG = np.random.default_rng(0)


class Form(NamedTuple):
    """A scatter: shapes, and its dimensions as HLO writes them."""

    table: tuple[int, ...]
    indices: tuple[int, ...]
    updates: tuple[int, ...]
    dims: str


FORMS = {
    "rows": Form(
        (20, 6),
        (9, 1),
        (9, 6),
        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        "index_vector_dim=1",
    ),
    "columns, windows of one": Form(
        (6, 20),
        (3, 3),
        (6, 3, 1, 3),
        "update_window_dims={0,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={1}, "
        "index_vector_dim=2",
    ),
    "two dimensions": Form(
        (5, 6, 4),
        (7, 2),
        (7, 6),
        "update_window_dims={1}, inserted_window_dims={0,2}, scatter_dims_to_operand_dims={2,0}, "
        "index_vector_dim=1",
    ),
    "one of two dimensions indexed": Form(
        (5, 6, 4),
        (7, 1),
        (7, 6),
        "update_window_dims={1}, inserted_window_dims={0,2}, scatter_dims_to_operand_dims={2}, "
        "index_vector_dim=1",
    ),
    "a batch, one update each": Form(
        (8, 11),
        (8, 1, 1),
        (8, 1),
        "update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
        "input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2",
    ),
    "a batch, many updates each": Form(
        (5, 3, 12),
        (9, 1, 3),
        (5, 9, 3),
        "update_window_dims={0}, inserted_window_dims={2}, scatter_dims_to_operand_dims={2}, "
        "input_batching_dims={1}, scatter_indices_batching_dims={2}, index_vector_dim=1",
    ),
    "full windows": Form(
        (6, 4),
        (3, 1),
        (3, 6, 4),
        "update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
        "index_vector_dim=1",
    ),
}
COMBINERS = {
    "add": "add(a, b)",
    "maximum": "maximum(a, b)",
    "multiply": "multiply(a, b)",
    "assign": "",
}


def text_of(form: Form, combiner: str = "add", dtype: str = "f32") -> str:
    def shape(dims: tuple[int, ...]) -> str:
        return "[" + ",".join(map(str, dims)) + "]"

    region = COMBINERS[combiner]
    a, b = f"a = {dtype}[] parameter(0)", f"b = {dtype}[] parameter(1)"
    body = [a, b, f"ROOT c = {dtype}[] {region}"] if region else [a, f"ROOT {b}"]
    lines = "\n  ".join(body)
    return f"""HloModule m

f {{
  {lines}
}}

ENTRY e {{
  i = s32{shape(form.indices)} parameter(0)
  u = {dtype}{shape(form.updates)} parameter(1)
  x = {dtype}{shape(form.table)} parameter(2)
  ROOT r = {dtype}{shape(form.table)} scatter(x, i, u), {form.dims}, to_apply=f
}}
"""


def arguments(form: Form, dtype: Any = np.float32, most: int | None = None) -> list[Any]:
    """Indices with equal ones and some outside, updates, and a table."""
    top = max(form.table) + 1 if most is None else most
    return [
        RNG.integers(-1, top, form.indices).astype(np.int32),
        (8 * RNG.standard_normal(form.updates)).astype(dtype),
        (8 * RNG.standard_normal(form.table)).astype(dtype),
    ]


def judge(text: str, args: list[Any], tolerance: float = 4e-6) -> None:
    """The rewritten program agrees with XLA, and so does the binary for inf1."""
    (want,) = (np.asarray(x) for x in run_xla(text, args))
    module = run_passes(program(text), PASS)
    assert "scatter" not in opcodes(module)
    (found,) = interpret(module, args)
    np.testing.assert_allclose(np.asarray(found), want, rtol=tolerance, atol=tolerance)
    result = compile_text(text, "inf1", CompileOptions(auto_cast="matmult"))
    machine = get_target("inf1").machine
    (found,) = run(decoded(result), args, machine, Options(races=True)).outputs
    np.testing.assert_allclose(np.asarray(found), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("form", FORMS)
def test_sums(form: str) -> None:
    chosen = FORMS[form]
    judge(text_of(chosen), arguments(chosen, most=2 if form == "full windows" else None))


@pytest.mark.parametrize("combiner", ["maximum", "assign"])
@pytest.mark.parametrize("form", ["a batch, one update each", "full windows"])
def test_few_updates_are_combined_in_turn(form: str, combiner: str) -> None:
    """The last of several plain assignments wins, as in HLO."""
    chosen = FORMS[form]
    judge(text_of(chosen, combiner), arguments(chosen, most=2), 0)


def test_few_integers_are_added_exactly() -> None:
    chosen = FORMS["a batch, one update each"]
    args = arguments(chosen, np.int32)
    args[1][:] = 2**30 + 1
    args[2][:] = RNG.integers(2**29, 2**30, chosen.table)
    judge(text_of(chosen, "add", "s32"), args, 0)


@pytest.mark.parametrize("form", ["rows", "a batch, one update each"])
def test_infinities_reach_their_rows_only(form: str) -> None:
    chosen = FORMS[form]
    args = arguments(chosen)
    args[1].flat[:4] = np.inf, -np.inf, np.nan, 3e38
    with np.errstate(invalid="ignore"):
        judge(text_of(chosen), args)


def test_untouched_elements_keep_their_bits() -> None:
    chosen = FORMS["a batch, one update each"]
    args = arguments(chosen)
    args[2][:] = -0.0
    judge(text_of(chosen), args)
    (found,) = interpret(run_passes(program(text_of(chosen)), PASS), args)
    assert np.signbit(found).sum() >= chosen.table[0] * (chosen.table[1] - 1)


@pytest.mark.parametrize("combiner", ["maximum", "assign"])
def test_many_updates_are_combined(combiner: str) -> None:
    chosen = FORMS["rows"]
    judge(text_of(chosen, combiner), arguments(chosen, most=4 if combiner == "assign" else None))


def test_too_many_updates_are_refused_by_name() -> None:
    text = text_of(FORMS["rows"], "maximum")
    for old, new in (("[20,", "[40000,"), ("[9,", "[50000,")):
        text = text.replace(old, new)
    with pytest.raises(RunFailure, match=r"hlo.scatter 'r' .*it has \d+ updates.* more than 4"):
        compile_text(text, "inf1", CompileOptions())
