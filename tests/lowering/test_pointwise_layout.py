"""Elementwise chains stay in one layout, also behind values that are not computed yet."""

from collections import Counter

import ml_dtypes
import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.lowering.helpers import entry


@pytest.mark.parametrize(
    ("rows", "columns", "tall", "wide"),
    [(65, 77, 143, 35), (33, 39, 143, 9), (26, 35, 130, 7)],
)
def test_chain_behind_a_scale(rows: int, columns: int, tall: int, wide: int) -> None:
    """A remainder has chains of ops on the scaled and the whole argument; rows whose number is no
    multiple of what fits on the partitions must not bring them into two layouts."""
    text = entry(
        f"n = bf16[{rows},{columns}] parameter(0)",
        f"c = f32[{rows},{columns}] convert(n)",
        f"x = f32[{tall},{wide}] reshape(c)",
        f"m = f32[{tall},{wide}] remainder(x, x)",
        f"b = f32[3,{wide}] parameter(1)",
        f"d = f32[3,{tall}] dot(b, m), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}",
    )
    options = CompileOptions(compile_to="virtual", auto_cast="none", tiling="never")
    module = compile_text(text, "trn1", options).module
    count = Counter(op.name for op in module.walk())
    assert count["nc.transpose_dve"] + count["nc.transpose"] <= 8
    assert count["nc.dma"] <= 8
    rng = np.random.default_rng(13)
    args = [
        rng.standard_normal((rows, columns)).astype(ml_dtypes.bfloat16),
        rng.standard_normal((3, wide)).astype(np.float32),
    ]
    assert not failures(text, args, "none")


@pytest.mark.parametrize("shape", [(31, 5, 4), (32, 7, 8)])
def test_rows_that_a_repeated_divisor_does_not_divide(shape: tuple[int, int, int]) -> None:
    """124 rows of 5 elements, along which 4 divisors repeat: in this layout their reciprocals
    differ from row to row."""
    dims = ",".join(map(str, shape))
    text = entry(
        f"x = f32[{dims}] parameter(0)",
        f"p = f32[{shape[2]}] parameter(1)",
        f"b = f32[{dims}] broadcast(p), dimensions={{2}}",
        f"d = f32[{dims}] divide(x, b)",
    )
    rng = np.random.default_rng(2)
    args = [rng.uniform(1, 2, n).astype(np.float32) for n in (shape, shape[2:])]
    assert not failures(text, args, "none")


REPEATED = (
    # of each operand: its dimensions as broadcast, and those along which it varies
    (((35, 132), (1,)), ((22, 210), (1,))),
    (((128, 5, 2, 96), (0, 2)), ((1536, 5, 2, 2, 2, 2), (1, 3, 5))),
    (((32, 24, 64), (1, 2)), ((48, 8, 128), (1,))),
)


@pytest.mark.parametrize("operands", REPEATED, ids=lambda o: "x".join(map(str, o[0][0])))
def test_repeated_operands_that_do_not_divide_each_other(
    operands: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...],
) -> None:
    lines: list[str] = []
    args: list[np.ndarray] = []
    rng = np.random.default_rng(4)
    size = int(np.prod(operands[0][0]))
    for i, (dims, kept) in enumerate(operands):
        small = [dims[d] for d in kept]
        lines += [
            f"p{i} = f32[{','.join(map(str, small))}] parameter({i})",
            f"b{i} = f32[{','.join(map(str, dims))}] broadcast(p{i}), "
            f"dimensions={{{','.join(map(str, kept))}}}",
            f"x{i} = f32[{size}] reshape(b{i})",
        ]
        args.append(rng.standard_normal(small).astype(np.float32))
    text = entry(*lines, f"s = f32[{size}] add(x0, x1)")
    assert not failures(text, args, "none")
