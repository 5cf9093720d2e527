"""Wrap an ONNX file as a `Model`."""

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
    """An ONNX model that was read."""

    file: OnnxFile

    @property
    def name(self) -> str:
        """The path of the file."""
        return self.file.name

    @property
    def digest(self) -> str:
        """The hash of the file; external content is hashed with the constants."""
        return self.file.digest

    def input_names(self, bindings: Bindings) -> list[str]:
        """Return the names of the inputs, in order."""
        return [value.name for value in graph_inputs(self.file.model.graph)]

    def operators(self, bindings: Bindings) -> list[Use]:
        """Return the operators that the model uses."""
        return operators_used(self.file.model)

    def module(self, bindings: Bindings) -> ModuleOp:
        """Import the model as an hlo module."""
        return import_onnx(self.file, bindings)


def read_model(path: str) -> OnnxModel:
    """Read a model from a file."""
    return OnnxModel(read_onnx(path))
