"""Gather and scatter with any dimension numbers, combiners, and indices out of range."""

from tests.differential.second.draw import USUAL, Draw, Value, braces, product
from tests.differential.second.movement import start_type
from tests.differential.second.program import Shape
from tests.differential.second.reductions import combiner


class Places:
    """Dimension numbers that gather and scatter share.

    `indexed` are the dimensions that an index vector chooses, `taken` those that a window lacks,
    `window` the sizes of a window along the others, `offsets` where these stand among the
    dimensions of the result (gather) or the updates (scatter), `dims` those dimensions; `limit`
    is the last start at which a window fits, `most` the largest dimension.
    """

    def __init__(self, draw: Draw, x: tuple[int, ...], count: int) -> None:
        rank = len(x)
        usual = draw.pick([True, False])
        order = tuple(range(rank)) if usual else draw.permutation(rank)
        self.indexed = list(order[: draw.pick([1, 1, min(2, rank), rank])])
        self.taken = sorted(i for i in self.indexed if draw.pick([True, True, False]))
        self.sizes = []
        for i, n in enumerate(x):
            whole = i not in self.indexed and draw.pick([True, True, True, False])
            part = n if whole else draw.pick(sorted({min(1, n), (n + 1) // 2, n}))
            self.sizes.append(min(1, n) if i in self.taken else part)
        self.window = [n for i, n in enumerate(self.sizes) if i not in self.taken]
        # Where the index vectors lie among the dimensions of the indices.
        self.count = len(self.indexed)
        lead = list(
            draw.dims(draw.pick([1, 1, 0, 2]), max(count // max(product(self.window), 1), 1))
        )
        self.vector = draw.pick([len(lead), len(lead), draw.among(0, len(lead))])
        scalar = self.count == 1 and draw.pick([False, True])
        self.indices = (
            [*lead] if scalar else [*lead[: self.vector], self.count, *lead[self.vector :]]
        )
        if scalar:
            self.vector = len(lead)
        total = len(lead) + len(self.window)
        ahead = draw.permutation(total)[: len(self.window)]
        last = list(range(len(lead), total))
        self.offsets = last if draw.pick([True, False]) else sorted(ahead)
        window, rest = list(self.window), list(lead)
        self.dims = tuple(window.pop(0) if i in self.offsets else rest.pop(0) for i in range(total))
        self.most = max(x, default=0)
        self.limit = max((x[i] - self.sizes[i] for i in self.indexed), default=0)


def _indices(draw: Draw, places: Places) -> Value:
    dtype = start_type(draw, places.most)
    low = -2 if dtype[0] == "s" else 0
    return draw.parameter(Shape(dtype, tuple(places.indices)), f"index:{low}:{places.limit + 1}")


def gather(draw: Draw) -> Value:
    """Gather slices at indices; starts are clamped so that slices fit."""
    x = draw.operand(USUAL, 1, 4, tiny=True)
    places = Places(draw, x.dims, 16_000)
    indices = _indices(draw, places)
    attributes = (
        f", offset_dims={braces(places.offsets)}, collapsed_slice_dims={braces(places.taken)}"
        f", start_index_map={braces(places.indexed)}, index_vector_dim={places.vector}"
        f", slice_sizes={braces(places.sizes)}"
    )
    shape = Shape(x.dtype, places.dims)
    return draw.add("gather", shape, [x, indices], attributes, rule="move")


def scatter(draw: Draw) -> Value:
    """Scatter updates: assigned, added, multiplied, or kept where larger or smaller."""
    opcode = draw.pick(("add", "assign", "maximum", "minimum", "multiply"))
    dtypes = "f32 f32 bf16 s32 f16 u8 s8 u32 s16".split()
    if opcode == "assign":
        dtypes.append("pred")
    x = draw.operand(dtypes, 1, 4, tame=True, size=12_000)
    places = Places(draw, x.dims, 6_000)
    indices = _indices(draw, places)
    updates = draw.like(Shape(x.dtype, places.dims), tame=True)
    if opcode == "assign":
        name = draw.fresh("combine")
        text = f"{name} {{\n  a = {x.dtype}[] parameter(0)\n  ROOT b = {x.dtype}[] parameter(1)\n}}"
    else:
        name, text = combiner(draw, opcode, x.dtype)
    attributes = (
        f", update_window_dims={braces(places.offsets)}"
        f", inserted_window_dims={braces(places.taken)}"
        f", scatter_dims_to_operand_dims={braces(places.indexed)}"
        f", index_vector_dim={places.vector}, to_apply={name}"
    )
    kept = opcode in ("assign", "maximum", "minimum")
    rule = {"assign": "choices", "maximum": "choices", "minimum": "choices", "add": "sum"}
    return draw.add(
        "scatter",
        x.shape,
        [x, indices, updates],
        attributes,
        rule=rule.get(opcode, "products"),
        terms=updates.shape.size + 1,
        exact=None if kept else False,
        signed=False,
        computations=[text],
    )


OPS = (gather, scatter)
