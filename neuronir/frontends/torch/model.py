"""Wrap an exported PyTorch program as a `Model`."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.models import Use


@dataclass(frozen=True)
class TorchModel:
    """An exported and decomposed program.

    `kept` parameters and buffers are inputs of the module; the others are constants.
    """

    program: Any
    name: str = "<torch>"
    digest: str = ""
    kept: frozenset[str] = field(default_factory=frozenset)

    def input_names(self, bindings: Bindings) -> list[str]:
        """Return the names of the inputs, in order."""
        return [str(name) for name in self.program.graph_signature.user_inputs]

    def operators(self, bindings: Bindings) -> list[Use]:
        """Return the operators that the program uses."""
        from neuronir.frontends.torch.unsupported import operators_used

        return operators_used(self.program)

    def module(self, bindings: Bindings) -> ModuleOp:
        """Import the program as an hlo module."""
        from neuronir.frontends.torch import import_torch

        return import_torch(self.program, kept=self.kept).module


def digest_of_program(program: Any) -> str:
    """Return the hash of a program's graph; its weights are hashed with the constants."""
    text = "\n".join(f"{n.name} {n.op} {n.target} {n.args} {n.kwargs}" for n in program.graph.nodes)
    return hashlib.sha256(text.encode()).hexdigest()


def operator_names() -> list[str]:
    """Return the names of the supported ATen operators, sorted."""
    from neuronir.frontends.torch.unsupported import importable

    return importable()


def read_model(path: str) -> TorchModel:
    """Read a file that torch.export.save wrote (.pt2)."""
    import torch

    from neuronir.frontends.torch.export import decomposed

    try:
        program = torch.export.load(path)
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise NeuronError(
            "NIR_INPUT",
            f"'{path}' is not an exported PyTorch program: {text}",
            help="write it by torch.export.save(torch.export.export(model, args), path)",
        ) from error
    program = decomposed(program)
    return TorchModel(program, path, digest_of_program(program))
