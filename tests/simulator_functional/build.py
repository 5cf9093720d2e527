"""Short spellings for hand-written programs."""

from collections.abc import Mapping, Sequence

from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    AccessPattern,
    Affine,
    Instruction,
    Item,
    Program,
    Source,
    Variable,
)
from tests.streams import triggered

F32 = DType.F32


def tile(
    address: int,
    size: int,
    space: Space = Space.SBUF,
    dtype: DType = F32,
    start: int = 0,
    partitions: int = 128,
    terms: tuple[tuple[int, int], ...] = (),
) -> AccessPattern:
    """`size` dense elements in each of `partitions` partitions (rows, in HBM)."""
    row = size * dtype.size if space == Space.HBM else 0
    return AccessPattern(space, dtype, Affine(address, terms), start, partitions, ((1, size),), row)


def program(
    streams: Mapping[Engine, Sequence[Item]],
    variables: Sequence[Variable] = (),
    semaphores: int = 8,
) -> Program:
    """A program of one function."""
    return Program(
        "trn1",
        "main",
        {"main": triggered(streams)},
        list(variables),
        [Source("op.1", "layer/op", "model.py", 7)],
        semaphores=semaphores,
    )


def copy(engine: Engine, dst: AccessPattern, src: AccessPattern) -> Instruction:
    """A copy by a vector engine or a DMA queue."""
    return Instruction("dma" if engine.is_dma else "tensor_copy", engine, (dst,), (src,))


def variable(name: str, kind: str, address: int, *shape: int, index: int = 0) -> Variable:
    """An fp32 array in HBM."""
    size = 4
    for extent in shape:
        size *= extent
    return Variable(name, kind, size, address, shape, F32, (), index)
