"""Random convolutions and reduce-windows: the interpreter agrees with XLA."""

from dataclasses import dataclass

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.interpreter.support import judge_arrays
from tests.oracle import random_array, run_xla


@dataclass
class _Axis:
    """One spatial dimension and how a window moves over it."""

    size: int
    window: int
    stride: int
    low: int
    high: int
    base: int
    dilation: int
    reverse: bool

    @property
    def result(self) -> int:
        padded = self.low + (self.size - 1) * self.base + 1 + self.high
        return (padded - ((self.window - 1) * self.dilation + 1)) // self.stride + 1


_SMALL = st.integers(1, 3)
_AXES = st.lists(
    st.builds(
        _Axis,
        size=st.integers(1, 6),
        window=_SMALL,
        stride=_SMALL,
        low=st.integers(-1, 2),
        high=st.integers(-1, 2),
        base=_SMALL,
        dilation=_SMALL,
        reverse=st.booleans(),
    ),
    min_size=1,
    max_size=2,
)


def _window_text(axes: list[_Axis], *, reversal: bool) -> str:
    def each(value: str) -> str:
        return "x".join(value.format(axis) for axis in axes)

    text = (
        f"size={each('{0.window}')} stride={each('{0.stride}')} pad={each('{0.low}_{0.high}')} "
        f"lhs_dilate={each('{0.base}')} rhs_dilate={each('{0.dilation}')}"
    )
    if reversal:
        text += " rhs_reversal=" + "x".join(str(int(axis.reverse)) for axis in axes)
    return text


def _dims(*sizes: int) -> str:
    return ",".join(map(str, sizes))


@settings(max_examples=25)
@given(_AXES, _SMALL, _SMALL, _SMALL, _SMALL, st.sampled_from(["none", "feature", "batch"]))
def test_random_convolution(
    axes: list[_Axis], batch: int, channels: int, features: int, groups: int, grouping: str
) -> None:
    assume(all(axis.result >= 1 for axis in axes))
    groups = 1 if grouping == "none" else groups
    feature_groups = groups if grouping == "feature" else 1
    batch_groups = groups if grouping == "batch" else 1
    spatial = "".join(str(i) for i in range(len(axes)))
    lhs_shape = (batch * batch_groups, channels * feature_groups, *[a.size for a in axes])
    rhs_shape = (features * groups, channels, *[a.window for a in axes])
    result = (batch, features * groups, *[a.result for a in axes])
    text = (
        f"HloModule conv\n\nENTRY main {{\n  x = f32[{_dims(*lhs_shape)}] parameter(0)\n"
        f"  w = f32[{_dims(*rhs_shape)}] parameter(1)\n"
        f"  ROOT r = f32[{_dims(*result)}] convolution(x, w), "
        f"window={{{_window_text(axes, reversal=True)}}}, "
        f"dim_labels=bf{spatial}_oi{spatial}->bf{spatial}, "
        f"feature_group_count={feature_groups}, batch_group_count={batch_groups}\n}}\n"
    )
    rng = np.random.default_rng(0)
    args = [random_array(rng, shape, np.float32) for shape in (lhs_shape, rhs_shape)]
    report = judge_arrays(text, args, run_xla(text, args))
    assert report.ok, f"{text}\n{report.render()}"


@settings(max_examples=20)
@given(_AXES, st.sampled_from(["add", "maximum", "minimum", "multiply", "subtract"]))
def test_random_reduce_window(axes: list[_Axis], opcode: str) -> None:
    assume(all(axis.result >= 1 for axis in axes))
    # Not associative: only a window of one element has one meaning.
    assume(opcode != "subtract" or np.prod([a.window for a in axes]) == 1)
    text = (
        f"HloModule pool\n\nf {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        f"  ROOT c = f32[] {opcode}(a, b)\n}}\n\nENTRY main {{\n"
        f"  x = f32[{_dims(*[a.size for a in axes])}] parameter(0)\n  s = f32[] parameter(1)\n"
        f"  ROOT r = f32[{_dims(*[a.result for a in axes])}] reduce-window(x, s), "
        f"window={{{_window_text(axes, reversal=False)}}}, to_apply=f\n}}\n"
    )
    rng = np.random.default_rng(1)
    args = [random_array(rng, [a.size for a in axes], np.float32), np.array(0.5, np.float32)]
    report = judge_arrays(text, args, run_xla(text, args))
    assert report.ok, f"{text}\n{report.render()}"
