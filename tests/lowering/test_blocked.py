"""Products block by block: small ones on a machine with a small SBUF, compared with numpy."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import register_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes import statistics
from neuronir.passes.lowering.products import search
from neuronir.passes.lowering.products.blocking import Begin, Blocking, Problem, tiles_of
from neuronir.passes.lowering.products.estimate import Estimate
from neuronir.passes.lowering.products.search import choose
from neuronir.targets.trn1.machine import TRN1
from tests.lowering.test_streaming import execute, small, virtual

DTYPES: dict[str, Any] = {"f32": np.float32, "bf16": ml_dtypes.bfloat16}


def text(m: int, k: int, n: int, dtype: str, left: bool, right: bool) -> str:
    """A product; `left` and `right` say which operands are transposed."""
    a = f"{k},{m}" if left else f"{m},{k}"
    b = f"{n},{k}" if right else f"{k},{n}"
    dims = f"lhs_contracting_dims={{{int(not left)}}}, rhs_contracting_dims={{{int(right)}}}"
    return f"""HloModule m
ENTRY main {{
  a = {dtype}[{a}] parameter(0)
  b = {dtype}[{b}] parameter(1)
  ROOT d = {dtype}[{m},{n}] dot(a, b), {dims}
}}"""


def product(
    sizes: Sequence[int],
    dtype: str = "bf16",
    left: bool = False,
    right: bool = False,
    kilobytes: int = 16,
    cast: str = "none",
) -> None:
    """Compile for a small SBUF, see that there are blocks, and compare with the exact product."""
    m, k, n = sizes
    machine = small(kilobytes)
    rng = np.random.default_rng(0)
    a = rng.standard_normal((m, k)).astype(DTYPES[dtype])
    b = rng.standard_normal((k, n)).astype(DTYPES[dtype])
    statistics.reset()
    module = virtual(text(m, k, n, dtype, left, right), machine, cast)
    assert went_in_blocks(m, k, n)
    args = [np.ascontiguousarray(a.T) if left else a, np.ascontiguousarray(b.T) if right else b]
    (got,) = execute(module, machine, args)
    if cast == "matmult":
        a, b = a.astype(DTYPES["bf16"]), b.astype(DTYPES["bf16"])
    want = a.astype(np.float64) @ b.astype(np.float64)
    # the result's 8 bits of bf16, or those of sums in fp32 of k terms
    unit = 2.0**-8 if dtype == "bf16" else 2.0**-24 * np.sqrt(k)
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=unit, atol=2 * unit * np.sqrt(k))


def went_in_blocks(m: int, k: int, n: int) -> bool:
    """Whether a product of these sizes has gone block by block."""
    counted = statistics.snapshot()["lower-hlo-to-nc"]
    return any(name.startswith(f"products {m}x{k}x{n} in blocks of ") for name in counted)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_operands_either_way(left: bool, right: bool) -> None:
    product((512, 1024, 1024), "bf16", left, right)


@pytest.mark.parametrize(
    ("sizes", "left", "right", "kilobytes"),
    [
        ((300, 500, 700), True, True, 16),
        ((1000, 333, 1200), False, True, 16),
        ((257, 1031, 521), False, False, 16),
        ((384, 4096, 200), False, False, 16),
        ((1031, 256, 2500), True, False, 24),
    ],
)
def test_sizes_that_no_tile_divides(
    sizes: tuple[int, int, int], left: bool, right: bool, kilobytes: int
) -> None:
    product(sizes, "f32", left, right, kilobytes)


@pytest.mark.parametrize("begin", [Begin(2, 2, 1), Begin(3, 1, 2)])
@pytest.mark.parametrize(
    ("sizes", "dtype", "left"),
    [
        ((768, 512, 1536), "bf16", False),  # one panel
        ((1000, 531, 1400), "bf16", False),  # nothing divides, several blocks of rows
        ((768, 512, 1536), "bf16", True),  # PE transposes nothing
        ((640, 512, 4608), "f32", False),  # several panels: the first rows are packed too
    ],
)
def test_the_panel_stays_in_sbuf(
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, int, int],
    dtype: str,
    left: bool,
    begin: Begin,
) -> None:
    monkeypatch.setattr(search, "_known", {})

    def of(_: Estimate, b: Blocking) -> Begin | None:
        return begin if b.column_tiles > begin.columns else None

    monkeypatch.setattr(Estimate, "begin", of)
    monkeypatch.setattr(search, "_reluctance", lambda b, _: 1.0 if b.begin else 100.0)
    product(sizes, dtype, left, kilobytes=80)
    counted = statistics.snapshot()["lower-hlo-to-nc"]
    m, k, n = sizes
    assert any(name.startswith(f"products {m}x{k}x{n} begin with ") for name in counted)


def test_dve_shares_the_transposes() -> None:
    types = (DType.BF16, (DType.BF16, DType.BF16), DType.BF16)
    found = choose(Problem(2048, 2048, 2048, *types, (True, False)), TRN1)
    assert found is not None and found.begin is not None and 0 < found.shared < found.depth_tiles
    other = choose(Problem(2048, 2048, 2048, *types, (False, False)), TRN1)
    assert other is not None and other.shared == 0


def test_loads_convert() -> None:
    product((640, 2048, 512), "f32", cast="matmult")


def test_a_large_weight_times_what_was_computed() -> None:
    """The computed side is small and stays; the weight goes by in blocks."""
    machine = small(16)
    program = """HloModule m
ENTRY main {
  x = f32[128,512] parameter(0)
  w = f32[512,768] parameter(1)
  y = f32[128,512] tanh(x)
  d = f32[128,768] dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[128,768] multiply(d, d)
}"""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((128, 512)).astype(np.float32)
    w = rng.standard_normal((512, 768)).astype(np.float32)
    statistics.reset()
    module = virtual(program, machine)
    assert went_in_blocks(128, 512, 768)
    (got,) = execute(module, machine, [x, w])
    want = np.square(np.tanh(x).astype(np.float64) @ w)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


def test_computed_operands_that_do_not_fit() -> None:
    machine = small(16)
    program = """HloModule m
ENTRY main {
  x = f32[1024,512] parameter(0)
  y = f32[512,1024] parameter(1)
  a = f32[1024,512] tanh(x)
  b = f32[512,1024] tanh(y)
  ROOT d = f32[1024,1024] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1024, 512)).astype(np.float32)
    y = rng.standard_normal((512, 1024)).astype(np.float32)
    statistics.reset()
    module = virtual(program, machine)
    assert went_in_blocks(1024, 512, 1024)
    (got,) = execute(module, machine, [x, y])
    want = np.tanh(x).astype(np.float64) @ np.tanh(y).astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


def test_infinities_stay_where_they_are() -> None:
    machine = small(16)
    program = """HloModule m
ENTRY main {
  x = f32[512,512] parameter(0)
  low = f32[] constant(-inf)
  lows = f32[512,512] broadcast(low), dimensions={}
  zero = f32[] constant(0)
  zeros = f32[512,512] broadcast(zero), dimensions={}
  p = pred[512,512] compare(x, zeros), direction=LT
  a = f32[512,512] select(p, lows, x)
  b = f32[512,1024] parameter(1)
  ROOT d = f32[512,1024] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
    x = np.ones((512, 512), np.float32)
    x[3, 5] = -1.0
    b = np.ones((512, 1024), np.float32)
    (got,) = execute(virtual(program, machine), machine, [x, b])
    want = np.full((512, 1024), 512.0, np.float32)
    want[3] = -np.inf
    np.testing.assert_array_equal(got, want)


def test_pinned_and_off() -> None:
    problem = Problem(
        1024, 1024, 1024, DType.BF16, (DType.BF16, DType.BF16), DType.BF16, (True, False)
    )
    pinned = choose(problem, TRN1, tiles_of("2x4x1"))
    assert pinned is not None and pinned.tiles == (2, 4, 1)
    assert tiles_of("") is None
    with pytest.raises(NeuronError, match="NIR_LOW007"):
        tiles_of("2x4")


def test_the_estimate_grows_with_the_work() -> None:
    types = (DType.BF16, (DType.BF16, DType.BF16), DType.BF16, (True, False))
    times = []
    for m in (1024, 2048, 4096):
        found = choose(Problem(m, 4096, 4096, *types), TRN1)
        assert found is not None and found.ns > found.least_ns
        times.append(found.ns)
    assert times == sorted(times)


def test_more_room_is_no_slower() -> None:
    problem = Problem(
        2048, 2048, 2048, DType.BF16, (DType.BF16, DType.BF16), DType.BF16, (True, False)
    )
    tight = replace(TRN1, name="trn1-tight", sbuf_usable_partition_bytes=64 * 1024)
    narrow, wide = (choose(problem, machine) for machine in (tight, TRN1))
    assert narrow is not None and wide is not None and wide.ns <= narrow.ns


def test_plans_are_known_by_what_a_machine_is_and_not_by_its_name() -> None:
    """A description with the name of another one and a quarter of its SBUF gets plans that fit."""
    large = replace(small(64), name="same")
    little = replace(small(16), name="same")
    problem = Problem(512, 512, 2048, DType.BF16, (DType.BF16,) * 2, DType.BF16, (True, False))
    first, second = choose(problem, large), choose(problem, little)
    assert first is not None and second is not None and first != second
    assert Estimate(problem, large).fits(first) and not Estimate(problem, little).fits(first)
    assert Estimate(problem, little).fits(second)
    for machine in (large, little):
        register_machine(machine)
        rng = np.random.default_rng(0)
        a, b = (rng.standard_normal(s).astype(DTYPES["bf16"]) for s in ((512, 2048), (2048, 512)))
        module = virtual(text(512, 2048, 512, "bf16", False, False), machine)
        (got,) = execute(module, machine, [a, b])
        want = a.astype(np.float64) @ b.astype(np.float64)
        assert np.abs(got.astype(np.float64) - want).max() <= np.abs(want).max() * 2.0**-8
