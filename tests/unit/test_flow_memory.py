"""Contents of memories: what came in pieces is what came at once, and nothing else is."""

import random

import pytest

from neuronir.dialects.nc.footprint import Shape
from neuronir.passes.nc import flow_memory, flow_paint
from neuronir.passes.nc.flow_contents import Painter
from neuronir.passes.nc.flow_memory import FlowMemory
from neuronir.passes.nc.flow_paint import (
    UNWRITTEN,
    Region,
    Write,
    paint,
    run,
    solid,
)

_READ = (0, 64, 0, 4000)
Row = tuple[int, int, int, int, Write]


def _read(painter: Painter, *rows: Row) -> tuple[int, int, int]:
    """What is read after writes of (first partition, one after the last, low, high)."""
    memory = FlowMemory(painter)
    for start, stop, low, high, write in rows:
        memory.write(memory.number(solid(start, stop, low, high)), write)
    return memory.read(memory.number(solid(*_READ)))


def _made(time: int, value: int = 7, byte: int = 0, partition: int = 0) -> Write:
    return Write(time, value, partition, byte)


def test_pieces_of_one_value_are_the_value() -> None:
    painter = Painter()
    whole = _read(painter, (0, 64, 0, 4000, _made(1)))
    assert whole == (7, 0, 0)
    side_by_side = ((0, 64, 0, 1332, _made(1)), (0, 64, 1332, 4000, _made(2)))
    assert _read(painter, *side_by_side) == whole
    assert _read(painter, *reversed(side_by_side)) == whole
    quarters = [
        (p, p + 32, low, low + 2000, _made(1 + p + low)) for p in (0, 32) for low in (0, 2000)
    ]
    assert _read(painter, *quarters) == whole


def test_pieces_beside_another_value_are_one_part() -> None:
    painter = Painter()
    other = (0, 64, 3000, 4000, _made(9, value=8))
    once = _read(painter, (0, 64, 0, 4000, _made(1)), other)
    pieces = _read(painter, (0, 64, 0, 1000, _made(1)), (0, 64, 1000, 4000, _made(2)), other)
    assert once == pieces
    assert once != _read(painter, (0, 64, 0, 4000, _made(1)))


def test_what_is_not_the_value_is_told_apart() -> None:
    painter = Painter()
    whole = _read(painter, (0, 64, 0, 4000, _made(1)))
    half = (0, 64, 0, 2000, _made(1))
    shifted = (0, 64, 2000, 4000, _made(2, byte=4))
    elsewhere = (0, 64, 2000, 4000, _made(2, partition=1))
    unwritten = (0, 64, 2000, 4000, Write(2, UNWRITTEN, 0, None))
    found = [_read(painter, half, *rest) for rest in ((), (shifted,), (elsewhere,), (unwritten,))]
    assert whole not in found
    assert len(set(found[1:3])) == 2 and not set(found[1:3]) & {found[0], found[3]}


def _regions(rng: random.Random, count: int, spread: int) -> list[Region]:
    """Regions with and without gaps that meet often."""
    out = []
    for _ in range(count):
        start, low = rng.randrange(4), 4 * rng.randrange(spread)
        width = 4 * rng.randrange(1, 9)
        shape = Shape(0, width, width, ())
        if rng.random() < 0.4:
            stride, times = width + 4 * rng.randrange(4), rng.randrange(2, 5)
            shape = Shape(0, stride * (times - 1) + width, width, ((stride, times),))
        out.append(Region(start, start + rng.randrange(1, 4), low, shape))
    return out


@pytest.mark.parametrize("few", [-1, 3, 8])
def test_reads_are_as_if_nobody_had_read_before(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of a read is not given where something has been written since, with an index
    from the first write on, later, and without."""
    monkeypatch.setattr(flow_memory, "_FEW", few)
    rng = random.Random(3)
    for _ in range(60):
        regions = _regions(rng, 6, 4 * flow_memory._PAGE // 8)
        regions += [solid(0, 4, 0, rng.choice((64, 80)) * flow_memory._PAGE)] * rng.randrange(2)
        painter = Painter()
        memory = FlowMemory(painter)
        done: list[tuple[Region, Write]] = []
        for time in range(1, 40):
            region = rng.choice(regions)
            if rng.random() < 0.6:
                fresh = FlowMemory(painter)
                for there, write in done:
                    fresh.write(fresh.number(there), write)
                assert memory.read(memory.number(region)) == fresh.read(fresh.number(region))
                continue
            write = _made(time, value=rng.randrange(3), byte=region.address, partition=region.start)
            done.append((region, write))
            memory.write(memory.number(region), write)


def test_a_memory_with_an_index_is_read_like_one_without(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(4)
    for _ in range(40):
        regions = _regions(rng, 30, 400)
        painter = Painter()
        with monkeypatch.context() as patch:
            memories = []
            for few in (-1, 1 << 30):
                patch.setattr(flow_memory, "_FEW", few)
                memories.append(FlowMemory(painter))
                for time, region in enumerate(regions):
                    write = _made(time, value=time, byte=region.address, partition=region.start)
                    memories[-1].write(memories[-1].number(region), write)
        for region in regions:
            one, other = (memory.read(memory.number(region)) for memory in memories)
            assert one == other
        assert memories[0].final() == memories[1].final()


def _as_granules(patch: pytest.MonkeyPatch) -> None:
    """Paint with arrays of granules."""
    patch.setattr(flow_paint, "_FEW", -1)
    patch.setattr(flow_paint, "_SHORT", -1)
    patch.setattr(flow_paint, "_LONG", 1 << 60)


def test_few_granules_are_painted_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    for _ in range(300):
        read, *writes = _regions(rng, rng.randrange(1, 7), 30)
        writes = [solid(w.start, w.stop, w.low, w.high) for w in writes]
        few = paint(read, writes)
        with monkeypatch.context() as patch:
            _as_granules(patch)
            assert paint(read, writes) == few


def test_runs_are_painted_as_granules(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(7)
    for _ in range(300):
        read, *writes = _regions(rng, rng.randrange(1, 7), 30)
        with monkeypatch.context() as patch:
            _as_granules(patch)
            granules = paint(read, writes)
        with monkeypatch.context() as patch:
            patch.setattr(flow_paint, "_LARGEST", -1)
            assert paint(read, writes) == granules
        assert paint(read, writes) == granules


def test_only_the_runs_that_a_read_meets_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four rows of logits that are written in 130 columns: each is painted by its four runs."""
    row, rows = 130 * 8, 256
    columns = Shape(0, row * (rows - 1) + 8, 8, ((row, rows),))
    writes = [Region(0, 1, 8 * k, columns) for k in range(130)]
    read = solid(0, 1, 40 * row, 44 * row)
    monkeypatch.setattr(flow_paint, "_LARGEST", -1)
    monkeypatch.setattr(flow_paint, "_MOST_PAINTED", 600)
    *areas, nothing = paint(read, writes)
    assert not nothing
    runs = [area[0][2] for area in areas]
    assert all(len(found) == 8 * 2 * 4 for found in runs) and len(set(runs)) == 130


def test_pieces_of_a_large_value_are_found_in_any_order() -> None:
    """Rows of a vocabulary, which are written in columns: more bytes than are looked at one by
    one."""
    row, rows, columns = 50257, 64, 1024
    read = Region(0, 1, 0, run(row * rows * 4))
    pieces = [
        Region(0, 1, 4 * (row * n + first), run(4 * min(columns, row - first)))
        for n in range(rows)
        for first in range(0, row, columns)
    ]
    found = []
    for order in (pieces, pieces[::-1]):
        memory = FlowMemory(painter := Painter())
        for time, piece in enumerate(order):
            memory.write(memory.number(piece), Write(time, 7 + pieces.index(piece) % 3, 0, 0))
        parts, gap = painter.parts(read, memory.seen(memory.number(read)))
        assert gap < 0
        found.append([(value, painter.listed[area]) for value, _, _, area in parts])
    assert found[0] == found[1]


def _columns(rows: int, columns: int) -> list[Region]:
    """Columns of 4 bytes in rows of 4,000: too many bytes to look at each one."""
    shape = Shape(0, 4000 * (rows - 1) + 4, 4, ((4000, rows),))
    return [Region(0, 1, 4 * n, shape) for n in range(columns)]


def _unpainted(regions: list[Region], order: list[int]) -> tuple[int, int, int]:
    memory = FlowMemory(_PAINTER)
    for time, n in enumerate(order):
        memory.write(memory.number(regions[n]), _made(time, value=n))
    read = solid(0, 1, 0, max(region.high for region in regions))
    with pytest.raises(flow_paint.TooLarge):
        paint(read, regions)
    return memory.read(memory.number(read))


_PAINTER = Painter()


def test_disjoint_writes_that_are_too_many_to_look_at_have_any_order() -> None:
    regions = _columns(5000, 6)
    found = _unpainted(regions, [0, 1, 2, 3, 4, 5])
    assert found == _unpainted(regions, [3, 5, 1, 0, 2, 4])
    assert found != _unpainted([*regions[1:], regions[0]], [0, 1, 2, 3, 4, 5])


def test_overlapping_writes_that_are_too_many_to_look_at_have_an_order() -> None:
    columns = _columns(5000, 6)
    wider = Shape(0, columns[0].shape.high + 4, 8, columns[0].shape.dims)
    regions = [*columns[:4], Region(0, 1, 12, wider), columns[5]]
    found = _unpainted(regions, [0, 1, 2, 3, 4, 5])
    assert found == _unpainted(regions, [2, 3, 1, 4, 0, 5])
    assert found != _unpainted(regions, [0, 1, 2, 4, 3, 5])


def test_the_index_finds_all_regions_that_overlap() -> None:
    """Elements in one partition, rows in several, and regions of many pages."""
    rng = random.Random(0)
    memory = FlowMemory(Painter())
    for time in range(3000):
        width = rng.choice([2, 4, 4, 60, 64, 66, 1000, 5000, 300_000])
        low = rng.randrange(0, 20_000, 2)
        start = rng.randrange(0, 8)
        stop = start + rng.choice([1, 1, 2, 8])
        number = memory.number(solid(start, stop, low, low + width))
        near = set(memory._near(number))
        region = memory.regions[number]
        assert near >= {k for k in memory.live if region.meets(memory.regions[k])}
        memory.write(number, _made(time))
        covered = {k for k in memory.live if region.covers(memory.regions[k])}
        assert covered == {number}
    memory.clear()
    assert not memory._near(memory.number(solid(0, 1, 0, 4)))


def test_elements_of_other_rows_are_not_compared() -> None:
    """A load that writes each element on its own takes no time that grows with their square."""
    memory = FlowMemory(Painter())
    for p in range(16):
        for n in range(256):
            memory.write(memory.number(solid(p, p + 1, 4 * n, 4 * n + 4)), _made(n))
    assert len(memory._near(memory.number(solid(3, 4, 40, 44)))) <= 16


def _bytes(region: Region) -> list[int]:
    begins = [region.low]
    for stride, count in region.shape.dims:
        begins = [begin + k * stride for k in range(count) for begin in begins]
    return [begin + k for begin in begins for k in range(region.shape.width)]


def test_the_part_of_a_region_in_another_has_few_pieces() -> None:
    """A spilled part of a buffer cuts writes of every hundredth element."""
    rng = random.Random(1)
    for _ in range(300):
        dims, width, extent = [], rng.choice([1, 2, 4, 12]), 0
        stride = width
        for _ in range(rng.randrange(4)):
            stride += rng.randrange(1, 30)
            dims.append((stride, rng.randrange(2, 7)))
            extent += stride * (dims[-1][1] - 1)
            stride *= rng.choice([1, dims[-1][1]])
        region = Region(3, 40, 1000, Shape(0, extent + width, width, tuple(dims)))
        low, high = sorted(rng.sample(range(990, 1020 + extent + width), 2))
        found = region.within(solid(10, 64, low, high))
        assert found is not None
        assert all((piece.start, piece.stop) == (10, 40) for piece in found)
        wanted = sorted(b for b in _bytes(region) if low <= b < high)
        assert sorted(b for piece in found for b in _bytes(piece)) == wanted
    strided = Region(0, 128, 0, Shape(0, 400 * 999 + 4, 4, ((400, 1000),)))
    assert [len(_bytes(p)) for p in strided.within(solid(0, 128, 2, 200_002)) or ()] == [2, 1996, 2]
