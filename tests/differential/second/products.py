"""Dots with any batch and contracting dimensions, and convolutions with all attributes."""

from tests.differential.second.draw import EDGES, Draw, Value, braces, product
from tests.differential.second.program import Shape

_PAIRS = (
    ("f32", "f32"),
    ("f32", "f32"),
    ("f32", "f32"),
    ("bf16", "bf16"),
    ("bf16", "f32"),
    ("f16", "f16"),
    ("f16", "f32"),
    ("s8", "s32"),
    ("u8", "s32"),
    ("s32", "s32"),
    ("u32", "u32"),
    ("s16", "s32"),
    ("f8e5m2", "f32"),
    ("f8e4m3", "f32"),
    ("f8e5m2", "bf16"),
    ("f8e4m3fn", "f32"),
)
_WORK = 6_000_000


def _one(draw: Draw, shape: Shape) -> Value:
    return draw.like(shape, tame=True)


def _sizes(draw: Draw, count: int, budget: int) -> list[int]:
    return list(draw.dims(count, max(budget, 1), EDGES))


def dot(draw: Draw) -> Value:
    """A dot: batch, contracting and free dimensions in any number and order."""
    kind, result = draw.pick(_PAIRS)
    old = draw.old((kind,), 1, 4, tame=True) if draw.pick([True, False]) else None
    if old is not None:
        order = draw.permutation(len(old.dims))
        batch = order[: draw.pick([0, 0, 0, 1]) if len(order) > 1 else 0]
        rest = order[len(batch) :]
        joined = rest[: draw.pick([1, 1, 1, 2, 0])]
        left, free = old, [i for i in rest if i not in joined]
        b, k = [old.dims[i] for i in batch], [old.dims[i] for i in joined]
        m = [old.dims[i] for i in sorted(free)]
        left_batch, left_joined = list(batch), list(joined)
    else:
        b = _sizes(draw, draw.pick([0, 0, 0, 1, 2]), 12)
        k = _sizes(draw, draw.pick([1, 1, 1, 2, 0]), 600)
        m = _sizes(draw, draw.pick([1, 1, 2, 0]), 24_000 // max(product(b) * product(k), 1))
        left, left_batch, left_joined = _side(draw, kind, b, k, m)
    work = max(product(b) * product(k) * max(product(m), 1), 1)
    room = min(24_000 // max(product(b) * max(product(k), product(m)), 1), _WORK // work)
    n = _sizes(draw, draw.pick([1, 1, 2, 0]), room)
    right, right_batch, right_joined = _side(draw, kind, b, k, n)
    if draw.chance(3):
        # The second operand is the one that was there.
        left, right, m, n = right, left, n, m
        left_batch, right_batch = right_batch, left_batch
        left_joined, right_joined = right_joined, left_joined
    attributes = "".join(
        f", {name}={braces(where)}"
        for name, where in (
            ("lhs_batch_dims", left_batch),
            ("lhs_contracting_dims", left_joined),
            ("rhs_batch_dims", right_batch),
            ("rhs_contracting_dims", right_joined),
        )
    )
    shape = Shape(result, (*b, *m, *n))
    terms = product(k)
    return draw.add("dot", shape, [left, right], attributes, rule="dot", terms=terms, exact=False)


def _side(
    draw: Draw, kind: str, b: list[int], k: list[int], m: list[int]
) -> tuple[Value, list[int], list[int]]:
    """An operand of a dot, where its batch and where its contracting dimensions are."""
    sizes = [*b, *k, *m]
    order = list(draw.permutation(len(sizes)))
    # Free dimensions stand in their order in the result.
    free = sorted(i for i in range(len(sizes)) if order[i] >= len(b) + len(k))
    for place, i in enumerate(free):
        order[i] = len(b) + len(k) + place
    value = _one(draw, Shape(kind, tuple(sizes[i] for i in order)))
    return (
        value,
        [order.index(i) for i in range(len(b))],
        [order.index(len(b) + i) for i in range(len(k))],
    )


def convolution(draw: Draw) -> Value:
    """A convolution over one to three dimensions with every window attribute, and groups."""
    kind, result = draw.pick(
        [(k, r) for k, r in _PAIRS if k in ("f32", "bf16", "f16")] * 3
        + [
            ("s32", "s32"),
            ("s8", "s32"),
        ]
    )
    rank = draw.pick([2, 1, 2, 1, 3])
    groups, batch_groups = draw.pick([(1, 1)] * 5 + [(2, 1), (3, 1), (32, 1), (1, 2), (1, 3)])
    small = (1, 2, 3, 4, 8, 16, 32, 33, 64)
    per_group = draw.pick([n for n in small if n * groups <= 130])
    features_in = per_group * groups
    outs = [n for n in (1, 2, 3, 5, 8, 16, 32, 33, 64, 65) if n * groups * batch_groups <= 130]
    features_out = draw.pick(outs) * groups * batch_groups
    batch = draw.pick([1, 2, 3]) * batch_groups
    window: dict[str, list[str]] = {
        "size": [],
        "stride": [],
        "pad": [],
        "lhs_dilate": [],
        "rhs_dilate": [],
        "rhs_reversal": [],
    }
    ins, taps, outs_dims = [], [], []
    for _ in range(rank):
        most = {1: 129, 2: 33, 3: 9}[rank]
        n = draw.pick([n for n in (1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 65, 129) if n <= most])
        size = draw.pick([1, 3, 2, 4, 5, 7])
        stride = draw.pick([1, 1, 1, 2, 3])
        low, high = (draw.pick([0, 1, 0, 2, 3, -1]) for _ in range(2))
        if stride > 1:  # XLA's CPU backend reads beyond images that it cuts, too.
            low, high = max(low, 0), max(high, 0)
        lhs, rhs = draw.pick([(1, 1)] * 6 + [(2, 1), (3, 1), (1, 2), (1, 3), (2, 2)])
        if lhs > 1 and not draw.chance(8):
            stride, rhs = 1, 1  # Machines take dilation of the input alone.
        wide = (n - 1) * lhs + 1 + low + high
        span = (size - 1) * rhs + 1
        if wide < span:
            low += span - wide
            wide = span
        ins.append(n)
        taps.append(size)
        outs_dims.append((wide - span) // stride + 1)
        window["size"].append(str(size))
        window["stride"].append(str(stride))
        window["pad"].append(f"{low}_{high}")
        window["lhs_dilate"].append(str(lhs))
        window["rhs_dilate"].append(str(rhs))
        window["rhs_reversal"].append(draw.pick(["0", "0", "0", "1"]))
    usual = {"stride": "1", "pad": "0_0", "lhs_dilate": "1", "rhs_dilate": "1", "rhs_reversal": "0"}
    shown = [
        f"{name}={'x'.join(values)}"
        for name, values in window.items()
        if any(value != usual.get(name) for value in values)
    ]
    orders = [_order(draw, rank, letters) for letters in ("bf", "io", "bf")]
    sizes = [
        {"b": batch, "f": features_in},
        {"i": features_in // groups, "o": features_out},
        {"b": batch // batch_groups, "f": features_out},
    ]
    for table, spatial in zip(sizes, (ins, taps, outs_dims), strict=True):
        table.update({str(i): n for i, n in enumerate(spatial)})
    dims = [tuple(s[c] for c in order) for s, order in zip(sizes, orders, strict=True)]
    left, right = _one(draw, Shape(kind, dims[0])), _one(draw, Shape(kind, dims[1]))
    labels = "_".join(orders[:2]) + "->" + orders[2]
    attributes = f", window={{{' '.join(shown)}}}, dim_labels={labels}"
    if groups > 1:
        attributes += f", feature_group_count={groups}"
    if batch_groups > 1:
        attributes += f", batch_group_count={batch_groups}"
    terms = product(taps) * (features_in // groups)
    operands = [left, right]
    shape = Shape(result, dims[2])
    return draw.add(
        "convolution", shape, operands, attributes, rule="dot", terms=terms, exact=False
    )


def _order(draw: Draw, rank: int, letters: str) -> str:
    spatial = "".join(map(str, range(rank)))
    usual = [letters[0] + spatial + letters[1], letters + spatial, spatial + letters]
    if draw.chance(5):
        whole = letters + spatial
        return "".join(whole[i] for i in draw.permutation(len(whole)))
    return draw.pick(usual)


OPS = (dot, dot, dot, convolution)
