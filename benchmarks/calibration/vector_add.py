"""Stanford CS149 vector add in fp32: load, load, add, store (vector_add_tiled, _stream)."""

from benchmarks.calibration.builder import Kernel

SLOTS = 8


def vector_add(iterations: int, rows: int, columns: int) -> Kernel:
    """c = a + b in tiles of `columns` elements on `rows` partitions, each contiguous in HBM.

    Three engines trigger its transfers, one for each array.
    """
    k = Kernel()
    a, b = (k.input(iterations * rows, columns) for _ in "ab")
    c = k.output(iterations * rows, columns)
    slots = min(SLOTS, iterations)
    tiles = [[k.sbuf(columns, rows=rows) for _ in "abc"] for _ in range(slots)]
    for i, slot in k.rounds(iterations, slots):
        x, y, z = tiles[slot]
        k.load(x(), a(i * rows, rows, 0, columns))
        k.load(y(), b(i * rows, rows, 0, columns), by="act")
        k.tensor_tensor(z(), x(), y())
        k.store(c(i * rows, rows, 0, columns), z())
    return k
