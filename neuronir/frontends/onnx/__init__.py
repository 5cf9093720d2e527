"""The ONNX frontend: .onnx files to hlo modules. It needs the package `onnx`."""

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

# Also need onnx, whose absence is told above.
from neuronir.frontends.onnx.importer import Importer
from neuronir.frontends.onnx.operators import ALL
from neuronir.frontends.onnx.reader import OnnxFile, parse_onnx, read_onnx

assert _onnx and ALL  # Importing them registers every operator.


def import_onnx(file: OnnxFile, bindings: Bindings | None = None) -> ModuleOp:
    """The hlo module of a model that `read_onnx` or `parse_onnx` gave.

    Any mistake in the model is a NeuronError with the model's name and, where there is one, the
    node's.
    """
    # A module is many small objects that all live: collecting cycles meanwhile only costs time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return Importer(file, bindings or Bindings()).module()
    finally:
        if collecting:
            gc.enable()


__all__ = ["OnnxFile", "import_onnx", "parse_onnx", "read_onnx"]
