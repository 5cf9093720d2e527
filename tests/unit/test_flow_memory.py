"""Contents of memories: what came in pieces is what came at once, and nothing else is."""

from neuronir.passes.nc.flow_memory import UNWRITTEN, FlowMemory, Painter, Write, solid

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
