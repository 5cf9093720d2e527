"""Select the frontend that reads a model file.

A frontend is a module with a function `read_model(path) -> Model`. It is imported when the first
model of its kind is read, because it needs an optional package.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.frameworks import check_framework


@dataclass
class Use:
    """How a model uses one operator: how often, in which nodes, and why it cannot be imported.

    The reason is None if the operator can be imported.
    """

    name: str
    count: int = 0
    nodes: list[str] = field(default_factory=list)
    reason: str | None = None


def describe(uses: list[Use]) -> list[str]:
    """Print one line for each operator: its count, its first node, and the reason."""
    lines = []
    for use in uses:
        where = f"'{use.nodes[0]}'" + (f" and {use.count - 1} more" if use.count > 1 else "")
        lines.append(f"{use.name} ({where}): {use.reason}")
    return lines


class Model(Protocol):
    """A model that was read and can be imported."""

    @property
    def name(self) -> str:
        """The name of the model in messages."""

    @property
    def digest(self) -> str:
        """A hash of the content."""

    def input_names(self, bindings: Bindings) -> list[str]:
        """Return the names of the inputs, in order."""

    def operators(self, bindings: Bindings) -> list[Use]:
        """Return the operators that the model uses, by name, with reasons why some cannot be
        imported.
        """

    def module(self, bindings: Bindings) -> ModuleOp:
        """Import the model as an hlo module; raises a NeuronError that says what cannot be
        imported.
        """


@dataclass(frozen=True)
class Frontend:
    """A kind of model: its command-line name, its suffixes, and the module that reads it."""

    framework: str
    suffixes: tuple[str, ...]
    reader: str


FRONTENDS: dict[str, Frontend] = {
    "onnx": Frontend("ONNX", (".onnx", ".onnxtxt"), "neuronir.frontends.onnx.model"),
    "tensorflow": Frontend("TENSORFLOW", (".pb", ".pbtxt"), "neuronir.frontends.tensorflow.saved"),
    "torch": Frontend("PYTORCH", (".pt2",), "neuronir.frontends.torch.model"),
}
"""Return the kind that `--frontend` names."""


def kind_of_file(path: str) -> str | None:
    """Return the kind of a model by file suffix, or None for text. A folder is a SavedModel."""
    if Path(path).is_dir():
        return "tensorflow"
    suffix = Path(path).suffix.lower()
    return next((kind for kind, f in FRONTENDS.items() if suffix in f.suffixes), None)


def framework_of_file(path: str) -> str | None:
    """Return the framework of a file by its name, and by its first line, or None."""
    if path.endswith((".hlo", ".hlo.pb", ".mlir")):
        return "XLA"
    kind = kind_of_file(path)
    if kind is not None:
        return FRONTENDS[kind].framework
    with suppress(OSError), open(path, "rb") as file:
        return "XLA" if file.read(4096).lstrip().startswith(b"HloModule") else None
    return None


def kind_of_framework(framework: str) -> str | None:
    """Return the kind of the models of a framework, or None for text (NIR_ARG001)."""
    check_framework(framework)
    wanted = framework.upper()
    return next((kind for kind, f in FRONTENDS.items() if f.framework == wanted), None)


def read_model(path: str, kind: str) -> Model:
    """Read a model of a kind; raises a NeuronError that says what is wrong with the file."""
    reader = import_module(FRONTENDS[kind].reader)
    return cast(Model, reader.read_model(path))


def named_values(model: Model, values: dict[str, Array], bindings: Bindings) -> dict[str, Array]:
    """Return arrays by input name, from arrays under `argN` or the input's name (NIR_DRV003)."""
    names = model.input_names(bindings) if values else []
    found: dict[str, Array] = {}
    for given, array in values.items():
        name = given
        if given not in names and given.startswith("arg") and given[3:].isdecimal():
            name = names[int(given[3:])] if int(given[3:]) < len(names) else given
        if name not in names:
            raise NeuronError(
                "NIR_DRV003",
                f"--weights: the model has no input '{given}'",
                help="its inputs: " + ", ".join(names),
            )
        if name in found:
            raise NeuronError("NIR_DRV003", f"--weights: input '{name}' is bound twice")
        found[name] = array
    return found
