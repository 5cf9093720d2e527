"""What the ops of the tile dialect compute, in numpy."""

import numpy as np
from xdsl.ir import Operation

from neuronir.dialects.hlo.semantics.registry import Bound, binder, result_of


@binder("tile.index")
def _index(op: Operation) -> Bound:
    _, dtype = result_of(op)
    return lambda index: np.asarray(index).astype(dtype)


@binder("tile.convert_layout")
def _convert_layout(op: Operation) -> Bound:
    _, dtype = result_of(op)
    return lambda value: value if value.dtype == dtype else value.astype(dtype)
