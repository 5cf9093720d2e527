"""Results that leave a product in another order than they have in HBM."""

import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.simulator.timing import simulate_timing
from tests.lowering.helpers import run
from tests.oracle import run_xla


def _products(count: int, rows: int, inner: int, columns: int, turned: bool) -> str:
    right = f"[{count},{columns},{inner}]" if turned else f"[{count},{inner},{columns}]"
    return (
        f"HloModule m\n\nENTRY e {{\n  a = f32[{count},{rows},{inner}] parameter(0)\n"
        f"  b = f32{right} parameter(1)\n"
        f"  ROOT c = f32[{count},{rows},{columns}] dot(a, b), lhs_batch_dims={{0}}, "
        f"rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, "
        f"rhs_contracting_dims={{{2 if turned else 1}}}\n}}\n"
    )


@pytest.mark.parametrize(
    ("count", "rows", "inner", "columns", "turned"),
    [
        pytest.param(1000, 16, 16, 16, False, marks=pytest.mark.slow),
        (640, 24, 16, 24, True),
        (512, 32, 24, 32, False),
    ],
)
@pytest.mark.thin(2)
def test_many_small_products_are_not_stored_element_by_element(
    count: int, rows: int, inner: int, columns: int, turned: bool
) -> None:
    text = _products(count, rows, inner, columns, turned)
    program = compile_text(text, "trn1", CompileOptions(tiling="always")).program
    assert program is not None
    # Bytes take 11 to 13 us; element by element, the results alone take more than 1,500 us.
    assert simulate_timing(program).total_ns < 150_000


def test_small_products_are_those_of_xla() -> None:
    text = _products(250, 16, 16, 16, False)
    rng = np.random.default_rng(0)
    args = [rng.integers(-8, 9, (250, 16, 16)).astype(np.float32) for _ in range(2)]
    np.testing.assert_array_equal(run(text, args)[0], run_xla(text, args)[0])
