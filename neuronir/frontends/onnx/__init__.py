"""Import .onnx files to hlo modules; needs the package `onnx`."""

import gc

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.bindings import Bindings

try:
    import onnx as _onnx
except ImportError as missing:
    raise NeuronError(
        "NIR_ONNX000",
        "reading ONNX models needs the package onnx",
        help="pip install 'neuronir[onnx]'",
    ) from missing

# These also need onnx, whose absence is reported above.
from neuronir.frontends.onnx.importer import Importer
from neuronir.frontends.onnx.operators import ALL
from neuronir.frontends.onnx.reader import OnnxFile, parse_onnx, read_onnx

assert _onnx and ALL  # Importing these modules registers every operator.


def import_onnx(file: OnnxFile, bindings: Bindings | None = None) -> ModuleOp:
    """Import a model that `read_onnx` or `parse_onnx` returned.

    Any error in the model raises a NeuronError with the name of the model and, if known, of the
    node.
    """
    # A module is many small live objects, so garbage collection during the import only costs time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return Importer(file, bindings or Bindings()).module()
    finally:
        if collecting:
            gc.enable()


__all__ = ["OnnxFile", "import_onnx", "parse_onnx", "read_onnx"]
