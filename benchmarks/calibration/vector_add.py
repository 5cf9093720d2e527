"""Stanford CS149 vector add in fp32: load, load, add, store (vector_add_tiled, _stream)."""

from benchmarks.calibration.builder import Index, Kernel

SLOTS = 8


def vector_add(iterations: int, columns: int) -> Kernel:
    """c = a + b in tiles of `columns` elements on 128 partitions, each contiguous in HBM."""
    k = Kernel()
    a, b = (k.input(iterations * 128, columns) for _ in "ab")
    c = k.output(iterations * 128, columns)
    slots = min(SLOTS, iterations)
    tiles = [[k.sbuf(columns) for _ in "abc"] for _ in range(slots)]
    for i, slot in k.rounds(iterations, slots):
        x, y, z = tiles[slot]
        k.load(x(), a(i * 128, 128, 0, columns))
        k.load(y(), b(i * 128, 128, 0, columns))
        k.tensor_tensor(z(), x(), y())
        k.store(c(i * 128, 128, 0, columns), z())
    return k


def single_elements(iterations: int) -> Kernel:
    """c = a + b one element at a time: transfers of one descriptor, all by one queue.

    The loads run ahead of the stores, so that the queue is never held up.
    """
    k = Kernel(queues={"from input0": 0, "from input1": 0, "to output0": 0})
    a, b, c = k.input(iterations, 1), k.input(iterations, 1), k.output(iterations, 1)
    ahead = SLOTS // 2
    tiles = [[k.sbuf(1, rows=1) for _ in "abc"] for _ in range(SLOTS)]

    def load(i: Index, slot: int) -> None:
        for tile, tensor in zip(tiles[slot], (a, b), strict=False):
            k.load(tile(), tensor(i, 1, 0, 1))

    def add(i: Index, slot: int) -> None:
        x, y, z = tiles[slot]
        k.tensor_tensor(z(), x(), y())
        k.store(c(i, 1, 0, 1), z())

    for n in range(ahead):
        load(Index(n), n)
    for i, slot in k.rounds(iterations - ahead, SLOTS):
        add(i, slot)
        load(i + ahead, (slot + ahead) % SLOTS)
    for n in range(iterations - ahead, iterations):
        add(Index(n), n % SLOTS)
    return k
