"""Operators of ATen against torch itself, those first that OpInfo's samples do not reach."""

import math
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402

from tests.frontends.torch.support import check  # noqa: E402

G = torch.Generator().manual_seed(0)
INF = math.inf


def numbers(*dims: int, dtype: Any = None) -> Any:
    made = torch.randn(dims, generator=G)
    return made if dtype is None else made.to(dtype)


ROWS = torch.zeros(3, 3)
"""A mask that hides the second row, and an element of the third."""
ROWS[1] = ROWS[2, 0] = float("-inf")


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "diagonal_scatter": (
        lambda x, y, z: (
            torch.diagonal_scatter(x, y, 1),
            torch.diagonal_scatter(x, z, -2, 2, 0),
            torch.diagonal_scatter(x, x.diagonal(0, 1, 2), 0, 1, 2),
        ),
        (numbers(4, 3, 5), numbers(5, 2), numbers(3, 3)),
    ),
    "as_strided_scatter": (
        lambda x, y: torch.as_strided_scatter(x, y, (2, 3), (5, 2), 1),
        (numbers(4, 4), numbers(2, 3)),
    ),
    **{
        f"index_reduce_{how}_{own}": (
            lambda x, i, y, how=how, own=own: x.index_reduce(1, i, y, how, include_self=own),
            (numbers(2, 4, 3), torch.tensor([1, 3, 1]), numbers(2, 3, 3)),
        )
        for how in ("prod", "mean", "amax", "amin")
        for own in (True, False)
    },
    **{
        f"scatter_mean_{own}": (
            lambda x, i, y, own=own: (
                x.scatter_reduce(1, i, y, "mean", include_self=own),
                (7 * x).int().scatter_reduce(1, i, (7 * y).int(), "mean", include_self=own),
            ),
            (numbers(2, 4), torch.tensor([[1, 3, 1], [0, 0, 0]]), numbers(2, 3)),
        )
        for own in (True, False)
    },
    "bilinear": (
        lambda x, y, w, c: F.bilinear(x, y, w, c),
        (numbers(2, 3, 4), numbers(2, 3, 5), numbers(6, 4, 5), numbers(6)),
    ),
    "linspace_of_data": (
        lambda x: (
            *(torch.linspace(x[0], x[1], 7), torch.linspace(x[0], 3.0, 1)),
            *(torch.linspace(0, x[1], 4), torch.linspace(x[1], x[0], 6, dtype=torch.int32)),
        ),
        (torch.tensor([-5.0, 9.0]),),
    ),
    "batch_norm_with_update": (
        lambda x, w, m, v: torch.ops.aten._batch_norm_with_update_functional(
            x, w, w, m, v, 0.1, 1e-5
        )[:3],
        (numbers(4, 3, 5), numbers(3), numbers(3), numbers(3).abs()),
    ),
    "index_of_scalar": (
        lambda x, i, y: (
            x.index_add(0, i, y),
            x.index_copy(0, i, y),
            x.index_reduce(0, i, y, "prod"),
        ),
        (numbers(), torch.tensor(0), numbers()),
    ),
    "put": (
        lambda x, i, y: (x.put(i[:2], y[:2]), x.put(i, y, accumulate=True)),
        (numbers(2, 3), torch.tensor([4, -1, 4]), numbers(3)),
    ),
    "angle": (torch.angle, (torch.tensor([1.0, -2.0, 0.0, -0.0, -INF, math.nan]),)),
    "resize": (
        lambda x: (torch.ops.aten.resize(x, (3, 2)), torch.ops.aten.resize(x, (2, 2))),
        (numbers(2, 3),),
    ),
    "pdist": (
        lambda x: (F.pdist(x), F.pdist(x, 1), F.pdist(x, INF), F.pdist(x, 3)),
        (numbers(5, 3),),
    ),
    "embedding_renorm": (
        lambda w, i: F.embedding(i, w.clone(), max_norm=1.0),
        (numbers(6, 4), torch.tensor([[1, 4], [1, 0]])),
    ),
    "randperm": (lambda x: x[torch.randperm(5)].sort().values, (torch.arange(5.0),)),
    "renorm_of_half": (
        lambda x: torch.renorm(x, 2, 0, 1.0),
        (numbers(3, 4, dtype=torch.bfloat16),),
    ),
    "dist": (lambda x, y: (torch.dist(x, y), torch.dist(x, y, 1)), (numbers(3, 4), numbers(4))),
    "special": (
        lambda x, y: (
            *(torch.lgamma(x), torch.digamma(x), torch.erfinv(x / 4), torch.i0(x)),
            *(torch.special.i0e(x), torch.special.i1(x), torch.special.i1e(x)),
            *(torch.polygamma(1, y), torch.special.zeta(y + 1, y), torch.nextafter(x, y)),
            *(torch.signbit(x), torch.special.modified_bessel_i1(x)),
        ),
        (torch.tensor([0.3, -0.7, 2.5, -3.4, -0.0]), torch.tensor([0.5, 1.5, 2.0, 7.0, 3.25])),
    ),
    "polygamma": (
        lambda x: tuple(torch.polygamma(n, x) for n in (0, 1)),
        (torch.tensor([0.3, -0.7, 2.5, -3.4, -0.2, 8.0]),),
    ),
    "hypot": (
        torch.hypot,
        (
            torch.tensor([3.0, 1e30, 0.0, INF, -INF, math.nan, 2e-30]),
            torch.tensor([-4.0, 1e30, 0.0, math.nan, INF, 1.0, 1e-30]),
        ),
    ),
    "add_alpha": (lambda x, y: torch.add(x, y, alpha=3), (numbers(2, 3), numbers(3))),
    "int_by_float": (lambda x: x * 1.5, (torch.arange(4),)),
    "int_compared_with_float": (lambda x: x > 1.5, (torch.arange(4),)),
    "floor_divide": (
        lambda x, y: (x // y, x % y, torch.fmod(x, y)),
        (torch.tensor([7, -7, 7, -7]), torch.tensor([3, 3, -3, -3])),
    ),
    "floor_divide_floats": (
        lambda x: torch.div(x, 0.1, rounding_mode="floor"),
        (torch.tensor([1.0, -1.0, 0.3, 5.05]),),
    ),
    "bool_arithmetic": (lambda x, y: (x + y, x * y), (numbers(4) > 0, numbers(4) > 0)),
    "bool_squared": (lambda x: torch.square(x), (numbers(4) > 0,)),
    "clamp_by_tensors": (lambda x, y: torch.clamp(x, min=y), (numbers(3, 4), numbers(4))),
    "advanced_index_apart": (
        lambda x, i, j: x[i, :, j],
        (numbers(4, 3, 5), torch.tensor([1, -1]), torch.tensor([0, 4])),
    ),
    "advanced_index_inside": (
        lambda x, i, j: x[:, i, j],
        (numbers(2, 4, 5), torch.tensor([[1], [-1]]), torch.tensor([0, 4])),
    ),
    "index_put_inside": (
        lambda x, i, v: x.index_put((torch.arange(2)[:, None], i), v, accumulate=True),
        (numbers(2, 4, 3), torch.tensor([1, 1]), numbers(3)),
    ),
    "mask_assigned": (lambda x: torch.where(x > 0, x, 0).masked_fill(x > 1, 2), (numbers(3, 4),)),
    "causal_attention": (
        lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
        (numbers(2, 3, 5, 4),),
    ),
    "flash_attention": (
        lambda q, k: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            q, k, k, 0.0, True, scale=0.4
        ),
        (numbers(2, 3, 5, 4), numbers(2, 3, 5, 4)),
    ),
    "flash_attention_in_half": (
        lambda q: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, q, q),
        (numbers(2, 3, 5, 4, dtype=torch.bfloat16),),
    ),
    "flash_attention_in_double": (
        lambda q: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, q, q),
        (numbers(2, 3, 5, 4, dtype=torch.float64),),
    ),
    "flash_attention_masked": (
        lambda q, m: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            q, q, q, attn_mask=m
        ),
        (numbers(2, 3, 3, 4), ROWS),
    ),
    "flash_attention_causal_and_masked": (
        lambda q, m: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            q, q, q, 0.0, True, attn_mask=m
        ),
        (numbers(2, 3, 3, 4), ROWS + numbers(3, 3)),
    ),
    "attention_in_half_with_a_hidden_row": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
        (numbers(2, 3, 3, 4, dtype=torch.bfloat16), ROWS.to(torch.bfloat16)),
    ),
    "attention_in_double": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
        (numbers(2, 3, 3, 4, dtype=torch.float64), ROWS.to(torch.float64)),
    ),
    "masked_attention": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
        (numbers(1, 2, 3, 4), torch.tensor([[True, True, True], [False] * 3, [True, False, True]])),
    ),
    "grouped_attention": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True, scale=0.3),
        (numbers(2, 6, 3, 4), numbers(2, 2, 5, 4)),
    ),
    "transposed_convolution": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1, groups=2),
        (numbers(1, 4, 5, 5), numbers(4, 3, 3, 3)),
    ),
    "grouped_convolution": (
        lambda x, w, b: F.conv1d(x, w, b, padding="same", dilation=2, groups=2),
        (numbers(2, 4, 9), numbers(6, 2, 3), numbers(6)),
    ),
    "pooling": (
        lambda x: (
            F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
            F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            F.adaptive_avg_pool2d(x, (3, 2)),
        ),
        (numbers(1, 2, 7, 8),),
    ),
    "resizing": (
        lambda x: (
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, (7, 3), mode="bilinear", align_corners=True),
            F.interpolate(x, (9, 4), mode="bicubic"),
        ),
        (numbers(1, 2, 5, 6),),
    ),
    "sorting": (
        lambda x: (torch.sort(x, stable=True, dim=-1, descending=True), torch.topk(x, 3, 0)),
        (numbers(5, 4),),
    ),
    "running": (lambda x: (x.cumsum(1), x.cumprod(0), x.cummax(1)), (numbers(3, 5),)),
    "half_softmax": (lambda x: F.softmax(x * 4, -1), (numbers(3, 40, dtype=torch.bfloat16),)),
    "half_layer_norm": (
        lambda x: F.layer_norm(x, (64,)),
        (numbers(3, 64, dtype=torch.bfloat16) + 8,),
    ),
    "in_place": (lambda x: x.clone().add_(1).mul_(2).relu_(), (numbers(4),)),
    "slices_assigned": (lambda x: _assigned(x), (numbers(4, 6),)),
    "frozen_branch": (lambda x: x + 1 if x.shape[0] > 2 else x, (numbers(4),)),
    "einsum": (
        lambda x, y: torch.einsum("bij,bkj->bik", x, y),
        (numbers(2, 3, 4), numbers(2, 5, 4)),
    ),
    "einsum_that_widens": (
        lambda x: torch.einsum("i->", x),
        (torch.arange(3, dtype=torch.int32),),
    ),
    "one_hot": (lambda x: F.one_hot(x, 6), (torch.tensor([[1, 5], [0, 2]]),)),
    "embedding_with_padding": (
        lambda i, w: F.embedding(i, w, padding_idx=0),
        (torch.tensor([[1, 0], [2, 2]]), numbers(3, 4)),
    ),
    **{
        f"bags_{mode}": (
            lambda i, w, m=mode: (
                F.embedding_bag(i, w, mode=m),
                F.embedding_bag(i, w, mode=m, padding_idx=2),
            ),
            (torch.tensor([[1, 0], [2, 2], [2, 1]]), numbers(3, 4)),
        )
        for mode in ("sum", "mean", "max")
    },
    **{
        f"bags_of_known_sizes_{mode}": (
            lambda i, w, m=mode: F.embedding_bag(
                i, w, torch.tensor([0, 2, 2, 5]), mode=m, include_last_offset=False
            ),
            (torch.tensor([1, 0, 2, 2, 1, 1]), numbers(3, 4)),
        )
        for mode in ("sum", "mean", "max")
    },
    **{
        f"bags_by_data_{mode}": (
            lambda i, w, o, m=mode: (
                F.embedding_bag(i, w, o, mode=m, padding_idx=-1),
                F.embedding_bag(i, w, o, mode=m, include_last_offset=True),
            ),
            (torch.tensor([1, 0, 2, 2, 1, 1]), numbers(3, 4), torch.tensor([0, 2, 2, 6])),
        )
        for mode in ("sum", "mean", "max")
    },
    **{
        f"bags_by_data_of_rows_that_are_not_finite_{mode}": (
            lambda i, w, o, m=mode: F.embedding_bag(i, w, o, mode=m, padding_idx=-1),
            (
                torch.tensor([0, 1, 2, 0, 1, 2, 3, 4]),
                torch.tensor([[1, 2], [INF, -1], [-INF, INF], [math.nan, 0], [INF, INF]]),
                torch.tensor([0, 1, 3, 5, 7]),
            ),
        )
        for mode in ("sum", "mean")  # a maximum of torch has NaN only where it comes first
    },
    "bags_with_an_end": (
        lambda i, w, o: (
            F.embedding_bag(i, w, torch.tensor([0, 2, 2, 4]), mode="sum", include_last_offset=True),
            F.embedding_bag(i, w, o, mode="sum", include_last_offset=True),
        ),
        (torch.tensor([1, 0, 2, 2, 1, 1]), numbers(3, 4), torch.tensor([0, 2, 4])),
    ),
    "bags_weighted_in_half": (
        lambda i, w, s: F.embedding_bag(i, w, mode="sum", per_sample_weights=s),
        (
            torch.tensor([[1, 0], [2, 2]]),
            numbers(3, 4, dtype=torch.bfloat16),
            numbers(2, 2, dtype=torch.bfloat16),
        ),
    ),
    "strided": (lambda x: x.as_strided((2, 3), (1, 2), 1), (numbers(3, 3),)),
}


def _assigned(x: Any) -> Any:
    x = x.clone()
    x[1:3, ::2] = 0
    x[:, -1] = x[:, 0]
    return x


@pytest.mark.parametrize("name", CASES)
def test_like_torch(name: str) -> None:
    function, tensors = CASES[name]
    check(function, *tensors)


@pytest.mark.parametrize("kind", ("LSTM", "GRU", "RNN"))
@pytest.mark.parametrize("bidirectional", (False, True))
def test_recurrent(kind: str, bidirectional: bool) -> None:
    torch.manual_seed(0)
    module = getattr(torch.nn, kind)(
        5, 6, num_layers=2, batch_first=True, bidirectional=bidirectional
    ).eval()
    check(module, numbers(3, 7, 5))


def test_grid_sample() -> None:
    grid = torch.rand((1, 3, 4, 2), generator=G) * 2.4 - 1.2
    for mode in ("bilinear", "nearest", "bicubic"):
        check(
            lambda x, g, m=mode: F.grid_sample(x, g, mode=m, align_corners=False),
            numbers(1, 2, 5, 6),
            grid,
        )
