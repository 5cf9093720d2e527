"""Define kernels: functions that read source tiles and fill destination tiles."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tile = NDArray[Any]
"""One operand: an array [partitions, *free sizes] of the numpy type of its data type. It may be a
strided view of a memory and may overlap others: a kernel reads all before it writes."""

Tiles = tuple[Tile | None, ...]
Kernel = Callable[[Tiles, Tiles], None]
"""`kernel(dst, src)` by the roles of the opcode table; absent optional operands are None."""

Warn = Callable[[str, int], None]
"""Called with a message and the number of elements that it is about."""


class SemanticError(Exception):
    """Raised for an instruction that no NeuronCore can run, or that fails on its data."""


def need(tile: Tile | None, role: str) -> Tile:
    """Return the tile of a required operand."""
    if tile is None:
        raise SemanticError(f"operand '{role}' is absent")
    return tile


def rows(tile: Tile) -> Tile:
    """Return `tile` as [partitions, elements]; a copy if its dims do not merge."""
    return tile.reshape(tile.shape[0], -1)


def column(tile: Tile, like: Tile) -> Tile:
    """Reshape a [partitions, 1] operand to broadcast over `like`."""
    if tile.size != tile.shape[0]:
        raise SemanticError(
            f"a per-partition scalar must have 1 element a partition, not {tile.size}"
            f" in {tile.shape[0]} partitions"
        )
    if tile.shape[0] != like.shape[0]:
        raise SemanticError(
            f"a per-partition scalar has {tile.shape[0]} partitions, the data {like.shape[0]}"
        )
    return tile.reshape((tile.shape[0],) + (1,) * (like.ndim - 1))


def same_shape(tile: Tile, like: Tile) -> Tile:
    """Reshape `tile` to the shape of `like`, keeping the order of the elements."""
    if tile.shape == like.shape:
        return tile
    if tile.shape[0] != like.shape[0] or tile.size != like.size:
        raise SemanticError(
            f"operands differ: {_show(tile)} and {_show(like)} (partitions x elements)"
        )
    return tile.reshape(like.shape)


def _show(tile: Tile) -> str:
    return f"{tile.shape[0]} x {int(np.prod(tile.shape[1:], dtype=np.int64))}"
