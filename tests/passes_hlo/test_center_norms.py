"""Means of rows are taken out of constants that only layer norms read sums of."""

import numpy as np
import pytest

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.nc.machine import get_machine
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.hlo.center_norms import parts_of
from neuronir.passes.hlo.support.values import constant
from neuronir.targets.simulator.functional import run
from tests.norms import Parts, layer_norm, literal, post_norm, pre_norm
from tests.passes_hlo.helpers import assert_same, program, run_passes

PASSES = "hlo-canonicalize,hlo-find-composites,hlo-center-norms"


def _centred(text: str) -> int:
    """How many norms are marked after the pass."""
    return str(run_passes(program(text), PASSES)).count("centred = true")


def _compute(text: str, passes: str | None, *args: np.ndarray) -> list[np.ndarray]:
    module = program(text)
    return interpret(module if passes is None else run_passes(module, passes), list(args))


def test_norms_of_a_residual_stream_are_centred() -> None:
    text = pre_norm(6, 8, layers=2)
    x = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
    assert _centred(text) == 3
    assert_same(_compute(text, None, x), _compute(text, PASSES, x))


def test_rows_of_the_stream_have_the_mean_zero() -> None:
    """The stream itself is what the last norm reads."""
    module = run_passes(program(pre_norm(6, 8, layers=2)), PASSES)
    block = next(iter(module.body.block.ops)).regions[0].block
    norms = [op for op in block.ops if op.name == "hlo.composite"]
    block.last_op.operands[0] = norms[-1].operands[0]
    x = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
    (stream,) = interpret(module, [x])
    assert np.abs(stream.mean(-1)).max() < 1e-5 * np.abs(stream).max()


def test_norms_after_each_block() -> None:
    """The norm that is added loses the mean of its offset, and is named as a part of the sum."""
    text = post_norm(6, 8, layers=2)
    passes = PASSES.replace("hlo-center", "hlo-fold-norms,hlo-dce,hlo-center")
    x = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
    module = run_passes(program(text), passes)
    block = next(iter(module.body.block.ops)).regions[0].block
    norms = [op for op in block.ops if isinstance(op, CompositeOp)]
    # Two read the argument. The last one is the result: there is none of it for a product.
    parts = [parts_of(norm) for norm in norms]
    assert parts == [None, None, [norms[1]], [norms[1]], [norms[3]]]
    for norm, count in zip(norms, (0, 1, 0, 1, 0), strict=True):
        offset = constant(norm.operands[-1])
        assert (offset is not None and np.abs(offset.mean()) < 1e-6 < np.abs(offset).max()) == count
    assert_same(_compute(text, None, x), _compute(text, passes, x))


def test_parts_of_a_stream() -> None:
    """A token is put in front, positions are added: all of them constants; and a row is taken."""
    text = pre_norm(6, 8, layers=1, parts=Parts(token=True, positions=True, first_row=True))
    x = np.random.default_rng(1).standard_normal((6, 8)).astype(np.float32)
    assert _centred(text) == 2
    assert_same(_compute(text, None, x), _compute(text, PASSES, x))


def test_features_of_a_convolution() -> None:
    kernel = np.arange(2 * 2 * 3 * 8, dtype=np.float32).reshape(2, 2, 3, 8) % 7 - 2
    lines = [
        "x = f32[1,4,4,3] parameter(0)",
        f"k = f32[2,2,3,8] constant({literal(kernel)})",
        "c = f32[1,2,2,8] convolution(x, k), window={size=2x2 stride=2x2}, "
        "dim_labels=b01f_01io->b01f",
        "s = f32[4,8] reshape(c)",
    ]
    text = layer_norm(lines, "s", 4, 8)
    x = np.random.default_rng(2).standard_normal((1, 4, 4, 3)).astype(np.float32)
    assert _centred(text) == 1
    assert_same(_compute(text, None, x), _compute(text, PASSES, x))


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        (Parts(result=True), "the stream is a result"),
        (Parts(given=True), "a part of the stream is an argument"),
        (Parts(scaled=True), "a part is multiplied after the product"),
        (Parts(infinite=True), "a mean is not finite"),
        (Parts(maximum=True), "something else reads the stream"),
    ],
)
def test_what_stays_as_it_is(parts: Parts, why: str) -> None:
    assert _centred(pre_norm(6, 8, layers=1, parts=parts)) == 0, why


def test_digits_of_a_table_stay() -> None:
    """A machine that computes no addresses looks rows up by dots with three bf16 tables, whose sum
    is exact. Without their means they would be fp32, which inf1 does not multiply."""
    table = np.random.default_rng(3).standard_normal((12, 8)).round(3).astype(np.float32)
    lines = [
        "i = s32[4] parameter(0)",
        f"t = f32[12,8] constant({literal(table)})",
        "g = f32[4,8] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}",
    ]
    text = layer_norm(lines, "g", 4, 8)
    options = CompileOptions(auto_cast="matmult")
    compiled = compile_text(text, "inf1", options).program
    assert compiled is not None
    indices = np.array([3, 11, 0, 7], np.int32)
    assert_same(
        _compute(text, None, indices), run(compiled, [indices], get_machine("inf1")).outputs
    )
