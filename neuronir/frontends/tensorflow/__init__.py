"""Import frozen graphs and SavedModels to hlo modules without TensorFlow.

This needs the package `protobuf` (extra `neuronir[tensorflow]`).
"""

import gc

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.tensorflow.files import File, read_file
from neuronir.frontends.tensorflow.graph import graph_table, library
from neuronir.frontends.tensorflow.importer import Importer
from neuronir.frontends.tensorflow.model import Model
from neuronir.frontends.tensorflow.ops import ALL
from neuronir.frontends.tensorflow.registry import OPERATORS
from neuronir.frontends.tensorflow.unsupported import check_supported, operators_used

assert ALL  # Importing these modules registers every operator.


def load_tensorflow(file: File, bindings: Bindings | None = None) -> Model:
    """Return the nodes of a file, with inputs and outputs selected."""
    outputs = {name: operator.outputs for name, operator in OPERATORS.items() if operator.outputs}
    try:
        return Model(file, graph_table(file.graph), library(file.graph, outputs), bindings)
    except NeuronError as error:
        raise _placed(error, file.name) from error


def import_tensorflow(file: File, bindings: Bindings | None = None) -> ModuleOp:
    """Import a model that `read_file` returned.

    Any error in the model raises a NeuronError with the name of the model and, if known, of the
    node.
    """
    # A module is many small live objects, so garbage collection during the import only costs time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        model = load_tensorflow(file, bindings)
        check_supported(model)
        return Importer(model).module()
    except NeuronError as error:
        raise _placed(error, file.name) from error
    finally:
        if collecting:
            gc.enable()


def operator_names() -> list[str]:
    """Return the names of the supported operators, sorted."""
    return sorted(name for name in OPERATORS if not name.startswith("_"))


def _placed(error: NeuronError, name: str) -> NeuronError:
    """Return the error with the name of the model, if it has no location."""
    if error.location is not None:
        return error
    return NeuronError(error.code, error.message, location=name, help=error.help)


__all__ = [
    "File",
    "Model",
    "import_tensorflow",
    "load_tensorflow",
    "operator_names",
    "operators_used",
    "read_file",
]
