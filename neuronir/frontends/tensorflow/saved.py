"""A TensorFlow file as a model that the programs read."""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from neuronir.frontends.bindings import Bindings
from neuronir.frontends.models import Use
from neuronir.frontends.tensorflow import import_tensorflow, load_tensorflow, operators_used
from neuronir.frontends.tensorflow.files import File, parse_graph, read_file


@dataclass(frozen=True)
class TensorFlowModel:
    """A model that has been read."""

    file: File

    @property
    def name(self) -> str:
        """The path that it was read from."""
        return self.file.name

    @property
    def digest(self) -> str:
        """The hash of its graph and of the index of its variables, which holds their checksums."""
        return self.file.digest

    def input_names(self, bindings: Bindings) -> list[str]:
        """The names of its inputs, in order."""
        return load_tensorflow(self.file, bindings).input_names

    def operators(self, bindings: Bindings) -> list[Use]:
        """The operators that it uses."""
        return operators_used(load_tensorflow(self.file, bindings))

    def module(self, bindings: Bindings) -> ModuleOp:
        """Its hlo module."""
        return import_tensorflow(self.file, bindings)


def parse_model(data: bytes, name: str = "<graph>") -> TensorFlowModel:
    """A frozen graph from the bytes of its GraphDef."""
    return TensorFlowModel(parse_graph(data, name))


def read_model(path: str) -> TensorFlowModel:
    """Read a model from a file or a SavedModel's folder."""
    return TensorFlowModel(read_file(path))
