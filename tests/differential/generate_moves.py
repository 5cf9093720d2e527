"""Steps of random programs that move elements: views, slices, pads, concatenations, gathers."""

from math import prod

from tests.differential.generate import Item, Program
from tests.differential.parameters import MAX_ELEMENTS, parameter, size


def transpose(p: Program, x: Item) -> Item:
    """Another order of the dimensions."""
    order = list(range(len(x.shape)))
    for i in range(len(order) - 1):
        j = p.pick(range(i, len(order)))
        order[i], order[j] = order[j], order[i]
    dims = ",".join(map(str, order))
    return p.add(
        x.type, [x.shape[i] for i in order], f"transpose({x.name}), dimensions={{{dims}}}", False
    )


def reshape(p: Program, x: Item) -> Item:
    """Neighbouring dimensions joined, or one split."""
    options: list[tuple[int, ...]] = [(prod(x.shape),), (*x.shape, 1), (1, *x.shape)]
    for d, n in enumerate(x.shape):
        for k in (2, 3, 4, 5, 32, 64, 128):
            if n % k == 0 and n > k and len(x.shape) < 5:
                options.append((*x.shape[:d], n // k, k, *x.shape[d + 1 :]))
        if d:
            options.append((*x.shape[: d - 1], x.shape[d - 1] * n, *x.shape[d + 1 :]))
    return p.add(x.type, p.pick(options), f"reshape({x.name})", False)


def cut(p: Program, x: Item) -> Item:
    """A slice along one or two dimensions."""
    ranges = [[0, n, 1] for n in x.shape]
    for _ in range(p.pick((1, 1, 2))):
        d = p.pick(range(len(x.shape)))
        n = x.shape[d]
        low = p.pick(sorted({0, 1, 32, n // 2, n - 1} & set(range(n))))
        high = p.pick(
            sorted({low + 1, low + 64, (low + n + 1) // 2, n} & set(range(low + 1, n + 1)))
        )
        ranges[d] = [low, high, p.pick((1, 1, 1, 2, 3))]
    shape = [-(-(b - a) // s) for a, b, s in ranges]
    text = ", ".join(f"[{a}:{b}:{s}]" for a, b, s in ranges)
    return p.add(x.type, shape, f"slice({x.name}), slice={{{text}}}", False)


def pad(p: Program, x: Item) -> Item | None:
    """Padding along one dimension: outside, between, or negative."""
    d = p.pick(range(len(x.shape)))
    n = x.shape[d]
    low, high, inner = p.pick((0, 1, 3, -1, 31)), p.pick((0, 2, -1)), p.pick((0, 0, 1))
    extent = n + (n - 1) * inner + low + high
    if extent < 1 or extent * prod(x.shape) // n > MAX_ELEMENTS:
        return None
    c = p.add(x.type, (), f"constant({p.pick(('0', '2', '-1.5'))})")
    config = "x".join(f"{low}_{high}_{inner}" if i == d else "0_0" for i in range(len(x.shape)))
    shape = (*x.shape[:d], extent, *x.shape[d + 1 :])
    return p.add(x.type, shape, f"pad({x.name}, {c.name}), padding={config}", False)


def concatenate(p: Program, x: Item) -> Item | None:
    """Two or three values, one after the other."""
    d = p.pick(range(len(x.shape)))
    fits = [
        i
        for i in p.items
        if i.type == x.type
        and len(i.shape) == len(x.shape)
        and all(a == b for k, (a, b) in enumerate(zip(i.shape, x.shape, strict=True)) if k != d)
    ]
    parts = [x, p.pick(fits)]
    if p.pick((False, True)):
        shape = (*x.shape[:d], p.pick((1, 3, 32)), *x.shape[d + 1 :])
        parts.insert(p.pick((0, 1, 2)), parameter(p, x.type, shape))
    total = sum(i.shape[d] for i in parts)
    if total * prod(x.shape) // x.shape[d] > MAX_ELEMENTS:
        return None
    shape = (*x.shape[:d], total, *x.shape[d + 1 :])
    names = ", ".join(i.name for i in parts)
    return p.add(x.type, shape, f"concatenate({names}), dimensions={{{d}}}", False)


def reverse(p: Program, x: Item) -> Item:
    """Some dimension backwards."""
    d = p.pick(range(len(x.shape)))
    return p.add(x.type, x.shape, f"reverse({x.name}), dimensions={{{d}}}", False)


def moving(p: Program, x: Item) -> Item:
    """A dynamic slice or update at a given index."""
    d = p.pick(range(len(x.shape)))
    i = parameter(p, "s32", ())
    zero = p.add("s32", (), "constant(0)")
    starts = ", ".join(i.name if k == d else zero.name for k in range(len(x.shape)))
    n = p.pick(sorted({1, x.shape[d] // 2 or 1, x.shape[d]}))
    shape = (*x.shape[:d], n, *x.shape[d + 1 :])
    if p.pick((True, False)):
        sizes = ",".join(map(str, shape))
        text = f"dynamic-slice({x.name}, {starts}), dynamic_slice_sizes={{{sizes}}}"
        return p.add(x.type, shape, text, False)
    update = parameter(p, x.type, shape)
    return p.add(x.type, x.shape, f"dynamic-update-slice({x.name}, {update.name}, {starts})", False)


def gather(p: Program, x: Item) -> Item | None:
    """Rows (along any dimension) by given indices."""
    d = p.pick(range(len(x.shape)))
    n = size(p, prod(x.shape) // x.shape[d], (1, 2, 3, 31, 64, 129))
    index = parameter(p, "s32", (n, 1) if p.pick((True, False)) else (n,))
    vector_dim = 1
    out = [n if k == d else m for k, m in enumerate(x.shape)]
    offsets = ",".join(str(k) for k in range(len(x.shape)) if k != d)
    sizes = ",".join("1" if k == d else str(m) for k, m in enumerate(x.shape))
    text = (
        f"gather({x.name}, {index.name}), offset_dims={{{offsets}}}, collapsed_slice_dims={{{d}}}, "
        f"start_index_map={{{d}}}, index_vector_dim={vector_dim}, slice_sizes={{{sizes}}}"
    )
    return p.add(x.type, out, text, False)
