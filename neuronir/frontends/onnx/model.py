"""An ONNX file as a model that the programs read."""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from neuronir.frontends.bindings import Bindings
from neuronir.frontends.models import Use
from neuronir.frontends.onnx import import_onnx
from neuronir.frontends.onnx.inputs import graph_inputs
from neuronir.frontends.onnx.reader import OnnxFile, read_onnx
from neuronir.frontends.onnx.unsupported import operators_used


@dataclass(frozen=True)
class OnnxModel:
    """A model that has been read."""

    file: OnnxFile

    @property
    def name(self) -> str:
        """The path that it was read from."""
        return self.file.name

    @property
    def digest(self) -> str:
        """The hash of its file; the content of external files is hashed with the constants."""
        return self.file.digest

    def input_names(self, bindings: Bindings) -> list[str]:
        """The names of its inputs, in order."""
        return [value.name for value in graph_inputs(self.file.model.graph)]

    def operators(self, bindings: Bindings) -> list[Use]:
        """The operators that it uses."""
        return operators_used(self.file.model)

    def module(self, bindings: Bindings) -> ModuleOp:
        """Its hlo module."""
        return import_onnx(self.file, bindings)


def read_model(path: str) -> OnnxModel:
    """Read a model from a file."""
    return OnnxModel(read_onnx(path))
