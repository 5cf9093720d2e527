"""Import exported PyTorch programs (torch.export) to hlo modules; needs `torch`."""

import gc
from collections.abc import Collection
from typing import Any

from neuronir.dialects.support.errors import NeuronError

try:
    import torch as _torch
except ImportError as missing:
    raise NeuronError(
        "NIR_TORCH003",
        "PyTorch models are read by the package 'torch', which is not installed",
        help="pip install 'neuronir[torch]'",
    ) from missing

# These also need torch, whose absence is reported above.
from neuronir.frontends.torch.importer import Imported, Importer
from neuronir.frontends.torch.operators import ALL

assert _torch and ALL  # Importing these modules registers every operator.


def import_torch(program: Any, *, name: str = "main", kept: Collection[str] = ()) -> Imported:
    """Import an exported, decomposed program (`export.export` creates one).

    Parameters and buffers become constants, except those in `kept` and those that the model
    changes: these become parameters of the module, after the arguments. Raises a NeuronError that
    says what cannot be imported, with the line of the model.
    """
    # A module is many small live objects, so garbage collection during the import only costs time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return Importer(program, name, set(kept).__contains__).imported()
    finally:
        if collecting:
            gc.enable()


__all__ = ["Imported", "import_torch"]
