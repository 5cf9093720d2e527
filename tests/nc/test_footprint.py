"""Footprint overlap against byte sets made by brute force."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from neuronir.dialects.nc.enums import AluOp, DType, Engine, Space
from neuronir.dialects.nc.footprint import (
    feasible,
    hull,
    hull_over,
    overlaps,
    overlaps_for_some,
    reads,
    shape_of,
    writes,
)
from neuronir.dialects.nc.instruction import AccessPattern, Affine, Instruction


def brute(ap: AccessPattern, address: int) -> set[tuple[int, int]]:
    """(partition, byte) of everything touched; partition 0 for HBM."""
    out: set[tuple[int, int]] = set()
    size = ap.dtype.size
    for p in range(ap.partitions):
        base = address + (p * ap.partition_stride if ap.space == Space.HBM else 0)
        partition = 0 if ap.space == Space.HBM else ap.start + p
        for index in product(*(range(n) for _, n in ap.free)):
            at = base + sum(s * i for (s, _), i in zip(ap.free, index, strict=True)) * size
            out.update((partition, at + byte) for byte in range(size))
    return out


def patterns(space: Space) -> st.SearchStrategy[AccessPattern]:
    """Small patterns with repeats, negative and overlapping strides."""
    return st.builds(
        AccessPattern,
        space=st.just(space),
        dtype=st.sampled_from([DType.U8, DType.BF16, DType.F32]),
        address=st.builds(Affine, st.just(0)),
        start=st.integers(0, 3) if space != Space.HBM else st.just(0),
        partitions=st.integers(1, 4),
        free=st.lists(
            st.tuples(st.integers(-9, 40), st.integers(1, 5)), min_size=1, max_size=4
        ).map(tuple),
        partition_stride=st.integers(0, 97) if space == Space.HBM else st.just(0),
    )


PAIRS = st.sampled_from(list(Space)).flatmap(lambda s: st.tuples(patterns(s), patterns(s)))


def test_every_small_shape_has_its_bytes() -> None:
    """Two dimensions at all distances: next to each other, over each other, with gaps of one."""
    steps, counts = range(4, 37, 4), range(1, 5)
    for inner, n, outer, count in product(steps, counts, steps, counts):
        ap = AccessPattern(
            Space.SBUF, DType.F32, Affine(0), 0, 1, ((outer // 4, count), (inner // 4, n))
        )
        shape = shape_of(ap)
        found = {shape.low + byte for byte in range(shape.width)}
        for stride, size in shape.dims:
            found = {byte + k * stride for byte in found for k in range(size)}
        assert found == {byte for _, byte in brute(ap, 0)}, ap.free


@settings(max_examples=600, deadline=None)
@given(PAIRS, st.integers(0, 300), st.integers(0, 300))
def test_overlap_is_exact(
    pair: tuple[AccessPattern, AccessPattern], address_a: int, address_b: int
) -> None:
    a, b = pair
    bytes_a, bytes_b = brute(a, address_a), brute(b, address_b)
    assert overlaps(a, b, address_a, address_b) == bool(bytes_a & bytes_b)
    assert overlaps(b, a, address_b, address_a) == bool(bytes_a & bytes_b)
    at = [byte for _, byte in bytes_a]
    assert hull(a, address_a) == (min(at), max(at) + 1)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-30, 30), st.integers(-3, 1), st.integers(1, 4)), max_size=4),
    st.integers(-80, 80),
    st.integers(0, 12),
)
def test_feasible_is_exact(terms: list[tuple[int, int, int]], low: int, width: int) -> None:
    sums = [
        sum(s * x for (s, _, _), x in zip(terms, values, strict=True))
        for values in product(*(range(a, b + 1) for _, a, b in terms))
    ]
    assert feasible(terms, low, low + width) == any(low <= s <= low + width for s in sums)


@settings(max_examples=200, deadline=None)
@given(PAIRS, st.integers(-60, 60), st.integers(-60, 60), st.integers(0, 200), st.integers(-2, 2))
def test_overlap_between_rounds_of_a_loop(
    pair: tuple[AccessPattern, AccessPattern], ca: int, cb: int, offset: int, distance: int
) -> None:
    from dataclasses import replace

    a = replace(pair[0], address=Affine(200, ((0, ca),)))
    b = replace(pair[1], address=Affine(200 + offset, ((0, cb),)))
    rounds = range(4)
    expected = any(
        brute(a, a.address.at([i])) & brute(b, b.address.at([i + distance]))
        for i in rounds
        if i + distance in rounds
    )
    bounds = {0: (0, 3)}
    shared = {0: (distance, distance)}
    assert overlaps_for_some(a, b, bounds, shared=shared) == expected
    free = any(
        brute(a, a.address.at([i])) & brute(b, b.address.at([j])) for i in rounds for j in rounds
    )
    assert overlaps_for_some(a, b, bounds) == free


def test_large_patterns_are_not_expanded() -> None:
    columns = AccessPattern(Space.HBM, DType.U8, Affine(), 0, 4096, ((2, 1 << 20),), 1 << 22)
    assert not overlaps(columns, columns, 0, 1)
    assert overlaps(columns, columns, 0, 2)
    assert hull_over(columns, {})[1] == 4095 * (1 << 22) + 2 * ((1 << 20) - 1) + 1


def test_reads_and_writes_of_special_instructions() -> None:
    tile = AccessPattern(Space.PSUM, DType.F32, Affine(), 0, 128, ((1, 8),))
    sb = AccessPattern(Space.SBUF, DType.F32, Affine(), 0, 128, ((1, 8),))
    row = AccessPattern(Space.HBM, DType.F32, Affine(64), 0, 1, ((1, 8),))
    params: dict[str, int | float] = {"accumulate": 1}
    assert tile in reads(Instruction("matmul", Engine.PE, (tile,), (sb, sb), params))
    assert tile not in reads(Instruction("matmul", Engine.PE, (tile,), (sb, sb), {"accumulate": 0}))
    assert tile in reads(Instruction("copy_predicated", Engine.DVE, (tile,), (sb, sb)))
    table: dict[str, int | float] = {"rows": 10, "row_stride": 64}
    gather = Instruction("dma_gather", Engine.DMA0, (sb,), (row, sb), table)
    assert hull(reads(gather)[0], 64) == (64, 64 + 9 * 64 + 32)
    scatter = Instruction(
        "dma_scatter", Engine.DMA0, (row,), (sb, sb), {**table, "accumulate": AluOp.ADD}
    )
    assert writes(scatter)[0] in reads(scatter)
    assert hull(writes(scatter)[0], 64) == (64, 64 + 9 * 64 + 32)
