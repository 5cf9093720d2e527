"""What each nc instruction computes, in numpy on tiles; `kernel_of` is the one entry."""

from neuronir.dialects.nc.semantics.dispatch import kernel_of
from neuronir.dialects.nc.semantics.kernel import Kernel, SemanticError, Tile, Tiles, Warn

__all__ = ["Kernel", "SemanticError", "Tile", "Tiles", "Warn", "kernel_of"]
