"""Gradients of windows against torch's own."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.frontends.torch.support import check  # noqa: E402

G = torch.Generator().manual_seed(0)
ATEN = torch.ops.aten


def numbers(*dims: int) -> Any:
    return torch.randn(dims, generator=G)


# input, kernel, stride, padding, dilation, transposed, output padding, groups
CONVOLUTIONS = {
    "plain": ((2, 3, 7, 8), (4, 3, 3, 3), [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    "strided": ((2, 3, 8, 9), (4, 3, 3, 2), [2, 3], [1, 0], [1, 1], False, [0, 0], 1),
    "dilated_in_groups": ((2, 4, 9, 9), (6, 2, 3, 3), [1, 2], [2, 1], [2, 1], False, [0, 0], 2),
    "depthwise": ((1, 4, 6, 6), (4, 1, 3, 3), [1, 1], [1, 1], [1, 1], False, [0, 0], 4),
    "one_dimension": ((2, 3, 11), (5, 3, 4), [3], [2], [1], False, [0], 1),
    "transposed": ((2, 4, 5, 4), (4, 3, 3, 3), [2, 1], [1, 1], [1, 1], True, [1, 0], 1),
    "transposed_in_groups": ((1, 4, 5), (4, 3, 3), [2], [1], [1], True, [0], 2),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("mask", ([True, True, True], [False, True, False]))
def test_convolution(name: str, mask: list[bool]) -> None:
    dims, kernel, *rest = CONVOLUTIONS[name]
    x, w = numbers(*dims), numbers(*kernel)
    result = ATEN.convolution(x, w, None, *rest)
    features = [result.shape[1]]

    def backward(g: Any, x: Any, w: Any) -> Any:
        found = ATEN.convolution_backward(g, x, w, features, *rest, mask)
        return [f for f, wanted in zip(found, mask, strict=True) if wanted]

    check(backward, torch.randn(result.shape, generator=G), x, w)


@pytest.mark.parametrize(
    ("dims", "kernel", "stride", "padding", "dilation", "ceil"),
    (
        ((2, 3, 8, 8), [2, 2], [2, 2], [0, 0], [1, 1], False),
        ((1, 2, 7, 9), [3, 3], [2, 2], [1, 1], [1, 1], True),
        ((2, 7, 9), [3, 2], [1, 2], [1, 0], [1, 1], False),
        ((1, 2, 9, 9), [2, 3], [2, 1], [0, 1], [2, 1], False),
        ((1, 1, 12, 12), [9, 9], [2, 2], [4, 4], [1, 1], False),
    ),
)
def test_max_pool(
    dims: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> None:
    x = (numbers(*dims) * 4).round()  # with equal elements
    rest = (kernel, stride, padding, dilation, ceil)
    y, places = ATEN.max_pool2d_with_indices(x, *rest)
    check(
        lambda g, x, i: ATEN.max_pool2d_with_indices_backward(g, x, *rest, i),
        torch.randn(y.shape, generator=G),
        x,
        places,
    )


@pytest.mark.parametrize("include", (False, True))
@pytest.mark.parametrize("divisor", (None, 3))
@pytest.mark.parametrize(
    ("dims", "kernel", "stride", "padding", "ceil"),
    (
        ((2, 3, 8, 8), [2, 2], [2, 2], [0, 0], False),
        ((1, 2, 7, 9), [3, 3], [2, 2], [1, 1], True),
        ((7, 8, 9), [3, 2], [1, 3], [1, 0], False),
    ),
)
def test_average_pool(
    dims: Any, kernel: Any, stride: Any, padding: Any, ceil: bool, divisor: Any, include: bool
) -> None:
    x = numbers(*dims)
    rest = (kernel, stride, padding, ceil, include, divisor)
    y = ATEN.avg_pool2d(x, *rest)
    check(lambda g, x: ATEN.avg_pool2d_backward(g, x, *rest), torch.randn(y.shape, generator=G), x)


def test_adaptive_average_pool() -> None:
    for size in ((3, 2), (4, 4)):
        check(ATEN._adaptive_avg_pool2d_backward, numbers(1, 2, *size), numbers(1, 2, 8, 7))
