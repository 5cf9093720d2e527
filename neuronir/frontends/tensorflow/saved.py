"""Wrap a TensorFlow file as a `Model`."""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from neuronir.frontends.bindings import Bindings
from neuronir.frontends.models import Use
from neuronir.frontends.tensorflow import import_tensorflow, load_tensorflow, operators_used
from neuronir.frontends.tensorflow.files import File, parse_graph, read_file


@dataclass(frozen=True)
class TensorFlowModel:
    """A TensorFlow model that was read."""

    file: File

    @property
    def name(self) -> str:
        """The path of the file."""
        return self.file.name

    @property
    def digest(self) -> str:
        """The hash of its graph and of the index of its variables, which has their checksums."""
        return self.file.digest

    def input_names(self, bindings: Bindings) -> list[str]:
        """Return the names of the inputs, in order."""
        return load_tensorflow(self.file, bindings).input_names

    def operators(self, bindings: Bindings) -> list[Use]:
        """Return the operators that the model uses."""
        return operators_used(load_tensorflow(self.file, bindings))

    def module(self, bindings: Bindings) -> ModuleOp:
        """Import the model as an hlo module."""
        return import_tensorflow(self.file, bindings)


def parse_model(data: bytes, name: str = "<graph>") -> TensorFlowModel:
    """Parse a frozen graph from the bytes of its GraphDef."""
    return TensorFlowModel(parse_graph(data, name))


def read_model(path: str) -> TensorFlowModel:
    """Read a model from a file or a SavedModel's folder."""
    return TensorFlowModel(read_file(path))
