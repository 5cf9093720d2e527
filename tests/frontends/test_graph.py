"""The functions that importers build with, evaluated, against numpy and its definitions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.dtypes import element_type
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph import BlockBuilder
from neuronir.frontends.graph import activations as A
from neuronir.frontends.graph import broadcasting as B
from neuronir.frontends.graph import control_flow as F
from neuronir.frontends.graph import convolution as C
from neuronir.frontends.graph import indexing as I
from neuronir.frontends.graph import linear as L
from neuronir.frontends.graph import normalization as N
from neuronir.frontends.graph import padding as P
from neuronir.frontends.graph import pooling as W
from neuronir.frontends.graph import reductions as R
from neuronir.frontends.graph import resizing as S
from neuronir.frontends.graph.module import ModuleBuilder
from neuronir.passes.hlo.support.values import element

Array = NDArray[Any]
Build = Callable[..., SSAValue | Sequence[SSAValue]]
RNG = np.random.default_rng(0)


def numbers(*dims: int, dtype: Any = np.float32) -> Array:
    return np.asarray(RNG.standard_normal(dims)).astype(dtype)


def run(build: Build, *arrays: Array) -> list[Array]:
    """What a graph of these inputs computes, by the reference interpreter."""
    module = ModuleBuilder("test")
    values = [
        module.input(f"x{i}", tensor_type(a.shape, element_type(a.dtype)))
        for i, a in enumerate(arrays)
    ]
    built = build(module.builder, *values)
    results = [built] if isinstance(built, SSAValue) else list(built)
    made = module.finish(results, [f"y{i}" for i in range(len(results))])
    made.verify()
    return interpret(made, arrays)


def same(build: Build, expected: Array, *arrays: Array, rtol: float = 1e-5) -> None:
    (found,) = run(build, *arrays)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-5)


def test_broadcasting() -> None:
    x, y = numbers(3, 1, 4), numbers(5, 1)
    same(lambda b, x, y: B.binary(b, "add", x, y), x + y, x, y)
    same(lambda b, x, y: B.select(b, B.compare(b, x, y, "LT"), x, y), np.minimum(x, y), x, y)
    with pytest.raises(NeuronError, match="do not broadcast"):
        run(lambda b, x, y: B.binary(b, "add", x, y), numbers(2, 3), numbers(4))
    with pytest.raises(NeuronError, match="must be the same"):
        run(lambda b, x, y: B.binary(b, "add", x, y), x, y.astype(np.int32))


@pytest.mark.parametrize("mode", P.MODES)
def test_pad(mode: str) -> None:
    x = numbers(3, 4)
    for low, high in (([1, 2], [2, 1]), ([0, 7], [5, 0]), ([2, 0], [0, 3])):
        wanted = np.pad(x, list(zip(low, high, strict=True)), mode=mode)  # type: ignore[call-overload]
        same(lambda b, x, low=low, high=high: P.pad(b, x, low, high, mode), wanted, x)
    if mode != "constant":
        wanted = np.pad(x[:, 1:], ((0, 0), (0, 2)), mode=mode)  # type: ignore[call-overload]
        same(lambda b, x: P.pad(b, x, [0, -1], [0, 2], mode), wanted, x)


def test_padding_amounts() -> None:
    assert P.same_padding(5, 2) == (0, 1)
    assert P.same_padding(5, 2, lower=True) == (1, 0)
    assert P.same_padding(7, 3, 2) == (1, 1)
    # size 4, window 3, stride 2: one position, and with the ceiling a second that sticks out by 1.
    assert P.ceil_padding(4, 3, 2, 1, 0, 0) == 1
    # A window that would begin in the padding does not count.
    assert P.ceil_padding(2, 1, 2, 1, 0, 1) == 1


def test_reductions() -> None:
    x = numbers(3, 4, 5)
    same(lambda b, x: R.total(b, x, [0, 2]), x.sum((0, 2)), x)
    same(lambda b, x: R.mean(b, x, [1], keep=True), x.mean(1, keepdims=True), x)
    same(lambda b, x: R.variance(b, x, [1]), x.var(1), x)
    wanted = np.log(np.exp(x.astype(np.float64)).sum(2)).astype(np.float32)
    same(lambda b, x: R.log_sum_exp(b, x, [2]), wanted, x)
    same(lambda b, x: R.log_sum_exp(b, x, [2]), wanted + np.float32(1000), x + np.float32(1000))
    nothing = np.full((2, 3), -np.inf, np.float32)
    assert run(lambda b, x: R.log_sum_exp(b, x, [1]), nothing)[0].tolist() == [-np.inf] * 2
    assert R.dims_from([-1, 0], 3) == (0, 2)
    with pytest.raises(NeuronError, match="axis 3 is not"):
        R.axis_from(3, 3)


@pytest.mark.parametrize("largest", [True, False])
def test_extreme_index(largest: bool) -> None:
    from xdsl.dialects.builtin import i64

    x = RNG.integers(0, 3, (6, 7)).astype(np.float32)
    find = np.argmax if largest else np.argmin
    same(lambda b, x: R.extreme_index(b, x, 1, i64, largest=largest), find(x, 1), x)
    last = 6 - find(x[:, ::-1], 1)
    same(lambda b, x: R.extreme_index(b, x, 1, i64, largest=largest, last=True), last, x)
    x[2, 3] = np.nan
    same(lambda b, x: R.extreme_index(b, x, 1, i64, largest=largest), find(x, 1), x)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_cumulative(exclusive: bool, reverse: bool) -> None:
    x = numbers(3, 5)
    y = x[:, ::-1] if reverse else x
    wanted = np.cumsum(y, 1) - (y if exclusive else 0)
    wanted = wanted[:, ::-1] if reverse else wanted
    same(lambda b, x: R.cumulative(b, x, "add", 1, exclusive=exclusive, reverse=reverse), wanted, x)


@pytest.mark.parametrize(
    "left, right",
    [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 1, 3, 4), (6, 4, 5))]
    + [((2, 3, 4), (4, 5)), ((2, 3, 4), (4,)), ((3, 4), (2, 4, 5))],
)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = numbers(*left), numbers(*right)
    same(L.matmul, np.asarray(np.matmul(x, y)), x, y)


def test_matmul_transposed() -> None:
    x, y = numbers(2, 4, 3), numbers(2, 5, 4)
    wanted = x.swapaxes(1, 2) @ y.swapaxes(1, 2)
    same(lambda b, x, y: L.matmul(b, x, y, transpose_lhs=True, transpose_rhs=True), wanted, x, y)


@pytest.mark.parametrize(
    "equation, dims",
    [("ij,jk", [(2, 3), (3, 4)]), ("...ij,...jk->...ik", [(5, 1, 2, 3), (4, 3, 6)])]
    + [("ii->i", [(4, 4)]), ("...ii->...i", [(3, 5, 5)]), ("ij->ji", [(2, 3)])]
    + [("bij,bjk,kl->bl", [(2, 3, 4), (2, 4, 5), (5, 6)]), ("i,j->ij", [(2,), (3,)])]
    + [("ij->", [(3, 4)]), ("b...i,b...i->b...", [(2, 3, 4), (2, 3, 4)])],
)
def test_einsum(equation: str, dims: list[tuple[int, ...]]) -> None:
    arrays = [numbers(*d) for d in dims]
    wanted = np.asarray(np.einsum(equation, *arrays))
    same(lambda b, *values: L.einsum(b, equation, values), wanted, *arrays)


def _convolve(x: Array, w: Array, stride: int, low: int, high: int, gap: int, groups: int) -> Array:
    """A convolution over one dimension, from its definition; NCW and OIW."""
    x = np.pad(x, ((0, 0), (0, 0), (low, high)))
    size = (x.shape[2] - (w.shape[2] - 1) * gap - 1) // stride + 1
    out = np.zeros((x.shape[0], w.shape[0], size))
    per, made = x.shape[1] // groups, w.shape[0] // groups
    for o in range(w.shape[0]):
        part = x[:, o // made * per : (o // made + 1) * per]
        for k in range(w.shape[2]):
            at = k * gap + stride * np.arange(size)
            out[:, o] += np.einsum("ncw,c->nw", part[:, :, at], w[o, :, k])
    return out.astype(np.float32)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("stride, low, high, gap", [(1, 0, 0, 1), (2, 1, 2, 1), (1, 2, 0, 2)])
def test_convolution(stride: int, low: int, high: int, gap: int, groups: int) -> None:
    x, w = numbers(2, 4, 9), numbers(6, 4 // groups, 3)
    wanted = _convolve(x, w, stride, low, high, gap, groups)

    def build(b: BlockBuilder, x: SSAValue, w: SSAValue, last: bool = False) -> SSAValue:
        layouts = C.features_last(1) if last else C.features_first(1)
        return C.convolution(
            b,
            x,
            w,
            layouts,
            strides=[stride],
            padding=[(low, high)],
            dilations=[gap],
            groups=groups,
        )

    same(build, wanted, x, w)
    same(
        lambda b, x, w: build(b, x, w, True),
        wanted.transpose(0, 2, 1),
        np.ascontiguousarray(x.transpose(0, 2, 1)),
        np.ascontiguousarray(w.transpose(2, 1, 0)),
    )


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "stride, low, high, gap, extra", [(1, 0, 0, 1, 0), (2, 1, 0, 1, 1), (3, 1, 2, 2, 2)]
)
def test_transposed_convolution(
    stride: int, low: int, high: int, gap: int, extra: int, groups: int
) -> None:
    """The transpose of the matrix that a convolution is."""
    y, w = numbers(1, 6, 5), numbers(6, 4 // groups, 3)
    size = (5 - 1) * stride + extra + 2 * gap + 1 - low - high
    wanted = np.zeros((1, 4, size), np.float32)
    for c in range(4):
        for place in range(size):
            unit = np.zeros((1, 4, size), np.float32)
            unit[0, c, place] = 1
            seen = _convolve(unit, w, stride, low, high, gap, groups)[:, :, :5]
            wanted[0, c, place] = (seen * y).sum()

    def build(b: BlockBuilder, y: SSAValue, w: SSAValue) -> SSAValue:
        return C.transposed_convolution(
            b,
            y,
            w,
            C.features_first(1),
            strides=[stride],
            padding=[(low, high)],
            dilations=[gap],
            output_padding=[extra],
            groups=groups,
        )

    same(build, wanted, y, w)


def test_layouts() -> None:
    assert (C.layout("NCHW"), C.layout("OIHW")) == C.features_first(2)
    assert (C.layout("NDHWC"), C.layout("DHWIO")) == C.features_last(3)


def test_pooling() -> None:
    x = numbers(2, 3, 7)
    window: dict[str, Any] = {"window": [3], "strides": [2], "padding": [(1, 1)]}
    data = C.features_first(1)[0]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1)), constant_values=np.nan)
    parts = np.stack([padded[:, :, i : i + 3] for i in (0, 2, 4, 6)], 2)
    same(lambda b, x: W.max_pool(b, x, data, **window), np.nanmax(parts, 3), x)
    same(lambda b, x: W.average_pool(b, x, data, **window), np.nanmean(parts, 3), x)
    counted = np.nansum(parts, 3) / 3
    same(lambda b, x: W.average_pool(b, x, data, counted=[(1, 1)], **window), counted, x)
    squares = np.sqrt(np.nansum(parts**2, 3))
    same(lambda b, x: W.lp_pool(b, x, data, 2, **window), squares, x)
    places = np.broadcast_to(np.arange(7, dtype=np.int32), x.shape).copy()
    index = np.nanargmax(parts, 3) + np.array([-1, 1, 3, 5])
    same(lambda b, x, i: W.max_pool_indices(b, x, data, i, **window), index, x, places)


def test_resizing() -> None:
    x = numbers(2, 4)
    up = S.Samples(8, 2.0)
    same(lambda b, x: S.nearest(b, x, 1, up), np.repeat(x, 2, 1), x)
    same(lambda b, x: S.nearest(b, x, 1, S.Samples(2, 0.5, "asymmetric")), x[:, ::2], x)
    at: Array = np.clip((np.arange(8) + 0.5) / 2 - 0.5, 0, 3)
    linear = np.stack([np.interp(at, np.arange(4), row) for row in x]).astype(np.float32)
    same(lambda b, x: S.interpolate(b, x, 1, up), linear, x)
    corners = S.Samples(7, 7 / 4, "align_corners")
    at = np.linspace(0, 3, 7)
    linear = np.stack([np.interp(at, np.arange(4), row) for row in x]).astype(np.float32)
    same(lambda b, x: S.interpolate(b, x, 1, corners), linear, x)
    # A cubic interpolates: samples on the old places keep their values.
    same(
        lambda b, x: S.interpolate(b, x, 1, S.Samples(4, 1.0), cubic=-0.75),
        x,
        x,
    )


def test_slices_and_gathers() -> None:
    x = numbers(5, 6, 7)
    same(
        lambda b, x: I.strided_slice(b, x, [1, 4, 0], [5, -1, 7], [2, -2, 3]),
        x[1:5:2, 4::-2, ::3],
        x,
    )
    index = RNG.integers(0, 6, (2, 3)).astype(np.int64)
    same(lambda b, x, i: I.take(b, x, i, 1), np.take(x, index, 1), x, index)
    same(lambda b, x: I.take(b, x, b.constant(index), 1), np.take(x, index, 1), x)
    same(lambda b, x: I.take(b, x, b.constant(np.array([2, 3])), 1), x[:, 2:4], x)
    each = RNG.integers(0, 6, (5, 2)).astype(np.int32)
    wanted = np.stack([x[i, each[i]] for i in range(5)])
    same(lambda b, x, i: I.take(b, x, i, 1, batch=1), wanted, x, each)
    at = RNG.integers(0, 6, (5, 4, 7)).astype(np.int64)
    same(lambda b, x, i: I.gather_elements(b, x, i, 1), np.take_along_axis(x, at, 1), x, at)
    nd = np.stack([RNG.integers(0, n, (4,)) for n in (5, 6)], 1)
    same(I.gather_nd, x[nd[:, 0], nd[:, 1]], x, nd)
    back = np.array([-1, 0, -6])
    same(lambda b, i: I.from_start(b, i, 6), back % 6, back)


def test_scatters() -> None:
    x, at = numbers(4, 5), RNG.integers(0, 5, (3, 2)).astype(np.int64)
    updates = numbers(3, 2)
    put, added = x.copy(), x.copy()
    for i in range(3):
        for j in range(2):
            put[i, at[i, j]] = updates[i, j]
            added[i, at[i, j]] += updates[i, j]
    same(lambda b, x, i, u: I.scatter_elements(b, x, i, u, 1), put, x, at, updates)
    same(lambda b, x, i, u: I.scatter_elements(b, x, i, u, 1, "add"), added, x, at, updates)
    rows, lines = np.array([[2], [0]]), numbers(2, 5)
    put = x.copy()
    put[[2, 0]] = lines
    same(I.scatter_nd, put, x, rows, lines)
    hot = np.array([1, 0, 9])
    wanted = np.array([[2, 7, 2], [7, 2, 2], [2, 2, 2]], np.float32)
    two, seven = np.float32(2), np.float32(7)
    same(
        lambda b, i: I.one_hot(
            b, i, 3, 1, b.constant(np.asarray(seven)), b.constant(np.asarray(two))
        ),
        wanted,
        hot,
    )
    same(
        lambda b, x: b.select(I.triangle(b, (4, 5), 1, upper=True), x, b.fill_like(0, x)),
        np.triu(x, 1),
        x,
    )
    same(
        lambda b, x: b.select(I.triangle(b, (4, 5), -1, upper=False), x, b.fill_like(0, x)),
        np.tril(x, -1),
        x,
    )


def test_normalizations() -> None:
    x = numbers(2, 3, 4)
    powers = np.exp(x)
    same(lambda b, x: N.softmax(b, x, [2]), powers / powers.sum(2, keepdims=True), x)
    logs = np.log(powers / powers.sum((1, 2), keepdims=True))
    same(lambda b, x: N.log_softmax(b, x, [1, 2]), logs, x)
    centred = x - x.mean(2, keepdims=True)
    wanted = centred / np.sqrt(x.var(2, keepdims=True) + 1e-3)
    same(lambda b, x: N.standardise(b, x, [2], 1e-3)[0], wanted, x)
    scale, offset, average, spread = numbers(3), numbers(3), numbers(3), np.abs(numbers(3))
    at = (slice(None), None)
    wanted = (x - average[at]) / np.sqrt(spread[at] + 1e-5) * scale[at] + offset[at]
    same(
        lambda b, x, s, o, m, v: N.batch_norm(b, x, s, o, m, v, 1e-5, 1),
        wanted,
        x,
        scale,
        offset,
        average,
        spread,
        rtol=1e-4,
    )
    padded = np.pad(x**2, ((0, 0), (1, 1), (0, 0)))
    sums = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
    wanted = x / (2 + 0.5 * sums) ** 0.75
    same(lambda b, x: N.local_response(b, x, 1, 3, alpha=0.5, beta=0.75, bias=2), wanted, x)


def test_activations() -> None:
    x = numbers(100) * 4
    plus = np.log1p(np.exp(x))
    for build, wanted in (
        (A.relu, np.maximum(x, 0)),
        (A.softplus, plus),
        (A.mish, x * np.tanh(plus)),
        (A.swish, x / (1 + np.exp(-x))),
        (lambda b, x: A.elu(b, x, 2), np.where(x < 0, 2 * np.expm1(x), x)),
        (lambda b, x: A.leaky_relu(b, x, 0.1), np.where(x < 0, x * np.float32(0.1), x)),
        (A.atan, np.arctan(x)),
    ):
        same(build, wanted.astype(np.float32), x)
    y = np.where(np.abs(numbers(100)) < 0.5, np.float32(-1.5), np.float32(2.5))
    same(A.floor_mod, np.mod(x, y), x, y)


def test_loops() -> None:
    x, w = numbers(3), numbers(3, 3)

    def build(b: BlockBuilder, x: SSAValue, w: SSAValue) -> list[SSAValue]:
        stack = b.fill(0, tensor_type((4, 3), element(x)))
        three = b.scalar(3, element(x))

        def body(
            i: BlockBuilder, number: SSAValue, state: list[SSAValue], captured: list[SSAValue]
        ) -> list[SSAValue]:
            w, three = captured
            assert i.known(three) is not None  # a constant stays one inside
            following = B.binary(i, "divide", L.matmul(i, state[0], w), three)
            return [following, F.stacked(i, state[1], number, following)]

        return F.counted_loop(b, 4, [x, stack], [w, three], body)

    final, stack = run(build, x, w)
    at = x
    for i in range(4):
        at = at @ w / 3
        np.testing.assert_allclose(stack[i], at, rtol=1e-4)
    np.testing.assert_allclose(final, at, rtol=1e-4)


def test_branches() -> None:
    x = numbers(3)

    def build(b: BlockBuilder, x: SSAValue, which: SSAValue) -> list[SSAValue]:
        return F.conditional(
            b,
            which,
            [x],
            [
                lambda i, _, c: [i.binary_number("add", c[0], 1)],
                lambda i, _, c: [i.unary("negate", c[0])],
            ],
        )

    for which, wanted in ((True, x + 1), (False, -x)):
        np.testing.assert_array_equal(run(build, x, np.array(which))[0], wanted)
        found = run(lambda b, x, which=which: build(b, x, b.constant(np.array(which))), x)
        np.testing.assert_array_equal(found[0], wanted)


def test_known_shapes_leave_nothing_behind() -> None:
    module = ModuleBuilder("test")
    b = module.builder
    x = module.input("x", tensor_type((2, 3), element_type(np.dtype(np.float32))))
    dims = b.concatenate([b.constant(np.array([3])), b.constant(np.array([2]))], 0)
    made = module.finish([b.reshape(x, b.known_ints(dims, "the shape"))], ["y"])
    assert [op.name for op in made.walk() if op.name.startswith("hlo.")] == ["hlo.reshape"]
    with pytest.raises(NeuronError, match="depends on the data of 'x'"):
        b.known_ints(x, "the shape")
