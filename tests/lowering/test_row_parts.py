"""Biases along the columns that are added as three bfloat16 rows."""

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from neuronir.targets.trn1.machine import TRN1
from tests.lowering.test_streaming import execute, virtual
from tests.oracle import random_array, run_xla

MASKED = """HloModule m
ENTRY main {
  q = f32[16,128,64] parameter(0)
  k = f32[16,64,128] parameter(1)
  m = f32[128] parameter(2)
  s = f32[16,128,128] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
    rhs_contracting_dims={1}
  b = f32[16,128,128] broadcast(m), dimensions={2}
  ROOT r = f32[16,128,128] add(s, b)
}"""


def narrow_biases(module: ModuleOp) -> int:
    """Products of 65 rows: those of the parts of a bias."""
    return sum(op.name == "nc.matmul" and "[0:65" in str(op) for op in module.walk())


def test_parts_add_up_to_the_bias() -> None:
    rng = np.random.default_rng(0)
    args = [random_array(rng, shape, np.float32) for shape in ((16, 128, 64), (16, 64, 128))]
    bias = rng.normal(size=128).astype(np.float32) * 10.0 ** rng.integers(-6, 30, 128)
    bias[:5] = -np.inf, np.inf, np.nan, -np.finfo(np.float32).max, np.finfo(np.float32).max
    args.append(bias.astype(np.float32))
    module = virtual(MASKED, TRN1)
    assert narrow_biases(module) == 16
    (want,) = run_xla(MASKED, args)
    (got,) = execute(module, TRN1, args)
    found = np.asarray(got).reshape(want.shape)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(want))
    np.testing.assert_allclose(found, want, rtol=3e-7, atol=1e-4)


def test_a_bias_of_few_products_stays_in_fp32() -> None:
    text = MASKED.replace("16,", "2,")
    assert narrow_biases(virtual(text, TRN1)) == 0


def test_a_bias_that_many_dots_share_is_split() -> None:
    """The mask of all layers: each of them alone has few products."""
    lines = [
        line
        for i in range(8)
        for line in (
            f"  q{i} = f32[2,128,64] parameter({2 * i})",
            f"  k{i} = f32[2,64,128] parameter({2 * i + 1})",
            f"  s{i} = f32[2,128,128] dot(q{i}, k{i}), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, "
            "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
            f"  r{i} = f32[2,128,128] add(s{i}, b)",
        )
    ]
    results = ", ".join(f"r{i}" for i in range(8))
    text = "\n".join(
        [
            "HloModule m",
            "ENTRY main {",
            "  m = f32[128] parameter(16)",
            "  b = f32[2,128,128] broadcast(m), dimensions={2}",
            *lines,
            f"  ROOT r = ({', '.join(['f32[2,128,128]'] * 8)}) tuple({results})",
            "}",
        ]
    )
    assert narrow_biases(virtual(text, TRN1)) == 16
