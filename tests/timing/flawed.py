"""Programs with one flaw that is known by construction, each beside the same work without it."""

from collections.abc import Callable
from dataclasses import dataclass

from neuronir.dialects.nc.enums import Activation, DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    AccessPattern,
    Affine,
    Instruction,
    Item,
    Loop,
    Program,
    Source,
    Variable,
)
from tests.timing.programs import act, add, after, dma, hbm, matmul, program, psum, raising, sbuf

Streams = dict[Engine, list[Item]]
NAMES = ("product", "weights", "mask", "activation", "sum", "result")
"""The source ops of the programs: instructions name theirs with `of`."""
OPCODES = ("dot", "dot", "select", "tanh", "add", "add")


@dataclass(frozen=True)
class Flaw:
    """`flawed` is at least `gain` times slower than `mended`. The report blames `op` (or one of
    several) for it: the phrases `what` and `advice` are in its cause."""

    flawed: Callable[[], Program]
    mended: Callable[[], Program]
    op: str
    what: str
    advice: str
    gain: float = 1.5


def of(name: str, instruction: Instruction) -> Instruction:
    """The instruction, of a source op."""
    instruction.source = NAMES.index(name)
    return instruction


def built(streams: Streams, semaphores: int = 64, variables: tuple[Variable, ...] = ()) -> Program:
    """A program with the source ops of NAMES."""
    found: Program = program(streams, semaphores)
    found.sources = [Source(n, opcode=o) for n, o in zip(NAMES, OPCODES, strict=True)]
    found.variables = list(variables)
    return found


def products(count: int, n: int = 512, k: int = 128) -> list[Item]:
    """Independent products of `n` columns over `k` rows."""
    return [of("product", matmul(n, k=k)) for _ in range(count)]


def on_tensor(items: list[Item]) -> Program:
    """A program of PE alone."""
    return built({Engine.PE: items})


def single(dtype: DType) -> Program:
    """Products of large operands of a type."""
    return on_tensor([of("product", matmul(dtype=dtype)) for _ in range(50)])


def streaming(elements: int, kind: str = "input", dtype: DType = DType.F32) -> Program:
    """Long rows of a variable that are read once."""
    size = 2 * 128 * elements * dtype.size
    loads: list[Item] = [
        of("sum", dma(sbuf(0, elements, dtype=dtype), hbm(i * size, elements, dtype=dtype), i % 4))
        for i in range(20)
    ]
    row = sbuf(0, elements, dtype=dtype)
    return built(
        {Engine.DMA0: loads, Engine.ACT: [of("sum", act(row, row))]},
        variables=(Variable("x", kind, 20 * size, 0),),
    )


def storing(kind: str) -> Program:
    """Long rows that are written once, to a variable of a kind."""
    size = 2 * 128 * 2048 * 4
    stores: list[Item] = [of("result", dma(hbm(i * size, 2048), sbuf(0, 2048))) for i in range(20)]
    products_ = products(20)
    return built(
        {Engine.DMA0: stores, Engine.PE: products_},
        variables=(Variable("y", kind, 20 * size, 0),),
    )


def masked(elements: int, count: int) -> Program:
    """A mask of bytes in `count` transfers of rows of some elements; a product needs it."""
    u8 = DType.U8
    mask = [
        of("mask", dma(sbuf(i * elements, elements, dtype=u8), hbm(i << 20, elements, 128, u8)))
        for i in range(count)
    ]
    raising(mask[-1], 0, 16)
    loads: list[Item] = [*mask]
    return built({Engine.DMA0: loads, Engine.PE: [after(matmul(), (0, 16)), *products(20)]})


def masked_before_products(elements: int) -> Program:
    """Products that take longer than the transfer of the mask, but wait for it."""
    u8 = DType.U8
    count = 64 // elements
    mask = [
        of("mask", dma(sbuf(i * elements, elements, dtype=u8), hbm(i << 20, elements, 128, u8)))
        for i in range(count)
    ]
    for load in mask:
        raising(load, 0, 1)
    loads: list[Item] = list(mask)
    first = of("product", after(matmul(), (0, count)))
    return built({Engine.DMA0: loads, Engine.PE: [*products(8), first, *products(270)]})


def weights(times: int) -> Program:
    """Weights that are read some times, and products with them."""
    load = of("weights", dma(sbuf(0, 2048), hbm(0, 2048)))
    return built(
        {Engine.DMA0: [Loop(times, [load])], Engine.PE: products(8)},
        variables=(Variable("w", "constant", 128 * 2048 * 4, 0),),
    )


def columns(loaded: int) -> Program:
    """Activations of 32 columns of arrays of which some columns are loaded."""
    loads: list[Item] = []
    acts: list[Item] = []
    for i in range(8):
        row = sbuf(4 * 2048 * i, loaded)
        load = raising(of("weights", dma(row, hbm(i << 22, loaded))), 0, 16)
        loads.append(load)
        here = sbuf(4 * 2048 * i, 32)
        acts.append(of("activation", after(act(here, here), (0, 16 * (i + 1)))))
    return built(
        {Engine.DMA0: loads, Engine.ACT: acts}, variables=(Variable("x", "input", 8 << 22, 0),)
    )


def activations(count: int) -> Program:
    """Long activations, and long sums beside them."""
    acts: list[Item] = [
        of("activation", act(sbuf(0, 4096), sbuf(16384, 4096), Activation.TANH))
        for _ in range(count)
    ]
    sums: list[Item] = [
        of("sum", add(sbuf(65536, 512), sbuf(69632, 512), sbuf(73728, 512))) for _ in range(8)
    ]
    return built({Engine.ACT: acts, Engine.DVE: sums})


def sums(dtype: DType, step: int = 1, partitions: int = 128, elements: int = 2048) -> Program:
    """Sums of long rows: of a type, of elements that lie apart, or on some partitions."""

    def row(address: int) -> AccessPattern:
        return AccessPattern(Space.SBUF, dtype, Affine(address), 0, partitions, ((step, elements),))

    items: list[Item] = [of("sum", add(row(0), row(64), row(128))) for _ in range(20)]
    return built({Engine.DVE: items})


def evictions(from_psum: bool) -> Program:
    """ACT and DVE at work all the time, both in PSUM or not."""
    place = psum if from_psum else sbuf
    acts: list[Item] = [of("activation", act(place(0, 512), sbuf(32768, 512))) for _ in range(60)]
    adds: list[Item] = [
        of("sum", add(place(2048, 512), place(4096, 512), sbuf(16384, 512))) for _ in range(20)
    ]
    return built({Engine.ACT: acts, Engine.DVE: adds})


def small_transfers(elements: int, count: int) -> Program:
    """Transfers of single rows."""
    items: list[Item] = [
        of("weights", dma(sbuf(4 * elements * (i % 16), elements, 1), hbm(i << 16, elements, 1)))
        for i in range(count)
    ]
    return built({Engine.DMA0: items})


def transposed(turned: bool) -> Program:
    """Products whose operands are transposed first, or not."""
    turn = Instruction("transpose", Engine.PE, (psum(4096, 128),), (sbuf(0, 128),))
    turns: list[Item] = [of("weights", turn) for _ in range(120)] if turned else []
    return on_tensor([*turns, *products(20)])


def tables(functions: tuple[Activation, ...]) -> Program:
    """Small activations in an order."""
    items: list[Item] = [
        of("activation", act(sbuf(0, 64), sbuf(1024 * i, 64), f)) for i, f in enumerate(functions)
    ]
    return built({Engine.ACT: items})


def chain(dependent: bool) -> Program:
    """Small sums of which each needs the one before, or none."""
    items: list[Item] = []
    for i in range(100):
        source = sbuf(64 * i if dependent else 32768, 4)
        items.append(of("sum", add(source, sbuf(65536, 4), sbuf(64 * (i + 1), 4))))
    return built({Engine.DVE: items})


def turns(strands: int) -> Program:
    """A recurrence of a product on PE and an activation on ACT, in some independent strands."""
    tensor: list[Item] = []
    scalar: list[Item] = []
    for step in range(40 // strands):
        for strand in range(strands):
            product = of("product", matmul(64))
            if step:
                after(product, (2 * strand + 1, step))
            tensor.append(raising(product, 2 * strand))
            result = act(psum(2048 * strand, 64), sbuf(512 * strand, 64), Activation.TANH)
            waiting = of("activation", after(result, (2 * strand, step + 1)))
            scalar.append(raising(waiting, 2 * strand + 1))
    return built({Engine.PE: tensor, Engine.ACT: scalar})


def tiles(ahead: int) -> Program:
    """Products of tiles, whose loads run some tiles ahead."""
    loads: list[Item] = []
    work: list[Item] = []
    for tile in range(16):
        load = of("weights", dma(sbuf(8192 * (tile % ahead), 128), hbm(tile << 20, 128)))
        if tile >= ahead:
            after(load, (1, tile - ahead + 1))
        loads.append(raising(load, 0, 16))
        first = of("product", after(matmul(), (0, 16 * (tile + 1))))
        work += [first, *products(5), raising(of("product", matmul()), 1)]
    return built({Engine.DMA0: loads, Engine.PE: work})


def beginning(parts: int) -> Program:
    """Sums of what one load brings, or several that the sums follow."""
    loads: list[Item] = []
    work: list[Item] = []
    size = 8192 // parts
    for part in range(parts):
        load = dma(sbuf(4 * size * part, size), hbm(part << 24, size), part % 4)
        loads.append(raising(of("weights", load), 0, 1))
        row = sbuf(4 * size * part, size)
        work.append(of("sum", after(add(row, row, sbuf(65536, size)), (0, part + 1))))
        work.append(of("sum", add(*(sbuf(65536, size // 8),) * 3)))
    return built({Engine.DMA0: loads, Engine.DVE: work})


def ending(parts: int) -> Program:
    """Sums that are stored in one transfer at the end, or in parts."""
    stores: list[Item] = []
    work: list[Item] = []
    size = 8192 // parts
    for part in range(parts):
        row = sbuf(4 * size * part, size)
        work.append(of("sum", add(*(sbuf(65536, size // 8),) * 3)))
        work.append(raising(of("sum", add(row, row, row)), 0))
        store = dma(hbm(part << 24, size), row, part % 4)
        stores.append(of("result", after(store, (0, part + 1))))
    return built({Engine.DMA0: stores, Engine.DVE: work})


def shared_port(by_pool: bool) -> Program:
    """Sums on DVE beside copies on POOL, which shares a port of SBUF with it, or on ACT."""
    row = sbuf(0, 1024)
    vector: list[Item] = [of("sum", add(row, row, row)) for _ in range(12)]
    here, there = sbuf(65536, 1024), sbuf(81920, 1024)
    if by_pool:
        pool = [Instruction("tensor_copy", Engine.POOL, (there,), (here,)) for _ in range(30)]
        copies: list[Item] = [of("mask", copy) for copy in pool]
        return built({Engine.POOL: copies, Engine.DVE: vector})
    copies = [of("mask", act(here, there)) for _ in range(30)]
    return built({Engine.ACT: copies, Engine.DVE: vector})


def meeting(barriers: bool) -> Program:
    """Independent work of three engines, one of them at a time between barriers, or all at once."""

    def stop(engine: Engine) -> list[Item]:
        stopped = Instruction("barrier", engine, (), ())
        return [of("result", stopped)] if barriers else []

    streams: Streams = {Engine.PE: [], Engine.DVE: [], Engine.ACT: []}
    for i in range(21):
        here, there = sbuf(0, 512), sbuf(65536, 1024)
        work: dict[Engine, list[Item]] = {
            Engine.PE: products(6),
            Engine.DVE: [of("sum", add(here, here, here))],
            Engine.ACT: [of("activation", act(there, there))],
        }
        for number, engine in enumerate(streams):
            streams[engine] += [*(work[engine] if i % 3 == number else ()), *stop(engine)]
    return built(streams)


def one_queue(elements: int, queues: int) -> Program:
    """Rows of some elements, in some queues."""
    streams: Streams = {}
    for queue in range(queues):
        streams[Engine(Engine.DMA0 + queue)] = [
            of("weights", dma(sbuf(0, elements), hbm(i << 20, elements), queue))
            for i in range(48 // queues)
        ]
    return built(streams)
