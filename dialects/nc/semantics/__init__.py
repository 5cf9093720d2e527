"""Define the numpy semantics of nc instructions on tiles; `kernel_of` is the entry point."""

from neuronir.dialects.nc.semantics.dispatch import kernel_of
from neuronir.dialects.nc.semantics.kernel import Kernel, SemanticError, Tile, Tiles, Warn

__all__ = ["Kernel", "SemanticError", "Tile", "Tiles", "Warn", "kernel_of"]
