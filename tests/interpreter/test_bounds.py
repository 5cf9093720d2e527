"""Error bounds: they cover what is observed, grow with depth and length, and see cancellation."""

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.hlo.interpreter_bounds import bounds
from neuronir.dialects.hlo.interpreter_noise import noise
from neuronir.dialects.hlo.semantics.execution import observing
from neuronir.dialects.hlo.semantics.numeric import Array, Value
from neuronir.dialects.support.compare import default_tolerance
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.hlo_text import import_hlo_text
from tests.corpus import CORPUS, program_args


def chain(depth: int, size: int) -> str:
    """A chain of square products."""
    shape = f"f32[{size},{size}]"
    lines = [f"  v0 = {shape} parameter(0)", f"  w = {shape} parameter(1)"]
    for i in range(depth):
        root = "ROOT " if i == depth - 1 else ""
        lines.append(
            f"  {root}v{i + 1} = {shape} dot(v{i}, w), "
            "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        )
    return "HloModule chain\n\nENTRY main {\n" + "\n".join(lines) + "\n}\n"


def test_bounds_grow_with_depth_length_and_roundoff() -> None:
    shallow, deep = (bounds(import_hlo_text(chain(d, 64), "c"), "bf16")[0] for d in (1, 16))
    assert deep == pytest.approx(4.0 * shallow)
    short, long = (bounds(import_hlo_text(chain(4, n), "c"))[0] for n in (16, 1024))
    assert long > 4.0 * short
    assert bounds(import_hlo_text(chain(4, 64), "c"), "fp32")[0] < shallow / 100.0


def test_unknown_precision_is_refused() -> None:
    with pytest.raises(NeuronError, match="NIR_CMP001"):
        bounds(import_hlo_text(chain(1, 4), "c"), "fp13")
    with pytest.raises(NeuronError, match="NIR_CMP001"):
        default_tolerance("fp13")


_CANCELLING = """HloModule cancel

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[4096] parameter(0)
  n = f32[4096] negate(x)
  y = f32[8192] concatenate(x, n), dimensions={0}
  e = f32[8192] exponential(y)
  l = f32[8192] log(e)
  z = f32[] constant(0)
  ROOT r = f32[] reduce(l, z), dimensions={0}, to_apply=add
}
"""


def test_noise_sees_a_sum_that_cancels() -> None:
    x = np.random.default_rng(0).standard_normal(4096).astype(np.float32)
    module = import_hlo_text(_CANCELLING, "cancel.hlo")
    (result,) = interpret(module, [x])
    allowed = bounds(module)[0] * abs(float(result))
    assert abs(float(result)) > allowed
    assert noise(module, [x])[0] > abs(float(result)) / 4.0


_CANCELLING_DOT = """HloModule m

ENTRY e {
  x = f32[128,1] parameter(0)
  c = f32[] constant(-3.1)
  y = f32[128] broadcast(c), dimensions={}
  ROOT r = f32[1] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
}
"""


@pytest.mark.parametrize("seed", range(8))
def test_noise_sees_a_product_whose_only_number_cancels(seed: int) -> None:
    """Added up exactly it differs by more than a bound relative to the result allows."""
    x = np.random.default_rng(seed).standard_normal((128, 1)).astype(np.float32)
    x[-1] -= x.sum(dtype=np.float64).astype(np.float32)
    exact = float((x[:, 0] * np.float64(np.float32(-3.1))).sum())
    module = import_hlo_text(_CANCELLING_DOT, "cancel.hlo")
    (result,) = interpret(module, [x])
    assert abs(float(result[0]) - exact) <= noise(module, [x])[0]


def _round_product_operands(precision_type: type) -> object:
    def observe(op: object, value: Value) -> Value:
        is_float = not isinstance(value, tuple) and value.dtype == np.float32
        if not is_float:
            return value
        array: Array = value  # type: ignore[assignment]
        return array.astype(precision_type).astype(np.float32)

    return observe


@pytest.mark.parametrize("name", ["mlp", "lenet", "lstm_scan", "hf_bert_tiny", "hf_resnet_tiny"])
def test_bounds_cover_sixteen_bit_arithmetic(name: str) -> None:
    # Every value rounded to bf16, which is coarser than operands of dots alone.
    path = CORPUS / "hlo" / "core" / f"{name}.hlo"
    module = import_hlo_text(path.read_text(), path.name)
    args = program_args(path)
    exact = interpret(module, args)
    with observing(_round_product_operands(ml_dtypes.bfloat16)):  # type: ignore[arg-type]
        rounded = interpret(module, args)
    for left, right, bound in zip(rounded, exact, bounds(module, "bf16"), strict=True):
        error = float(np.abs(left - right).max() / np.abs(right).max())
        assert 1e-5 < error < 3.0 * bound


_MASKED = """HloModule masked

most {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}

ENTRY main {
  x = f32[64] parameter(0)
  m = s32[64] parameter(1)
  f = f32[64] convert(m)
  one = f32[] constant(1)
  ones = f32[64] broadcast(one), dimensions={}
  d = f32[64] subtract(ones, f)
  huge = f32[] constant(1e30)
  h = f32[64] broadcast(huge), dimensions={}
  p = f32[64] multiply(d, h)
  s = f32[64] subtract(x, p)
  low = f32[] constant(-inf)
  top = f32[] reduce(s, low), dimensions={0}, to_apply=most
  t = f32[64] broadcast(top), dimensions={}
  r = f32[64] subtract(s, t)
  ROOT e = f32[64] exponential(r)
}
"""


def test_noise_leaves_masks_and_counts_alone() -> None:
    # Where the mask is 3, its 2e30 absorbs x: all these are exactly the largest, in any execution.
    x = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    mask = (np.arange(64) % 4).astype(np.int32)
    assert noise(import_hlo_text(_MASKED, "masked.hlo"), [x, mask])[0] < 1e-5
