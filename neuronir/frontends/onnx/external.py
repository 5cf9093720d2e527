"""Find and check the files next to an ONNX model that hold tensors.

Each must be a plain file in the model's folder; this is checked before any of them is opened.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.inputs import open_below
from neuronir.dialects.support.mapped import mapped_file
from neuronir.dialects.support.output import input_error

Array = NDArray[Any]


def entries_of(tensor: "onnx.TensorProto") -> dict[str, str]:
    """Return the file and position of a tensor: `location`, `offset` and `length`."""
    return {entry.key: entry.value for entry in tensor.external_data}


def external_tensors(message: Any) -> Iterator["onnx.TensorProto"]:
    """Return all tensors in other files: initializers, attributes, and those of subgraphs and
    functions.
    """
    if isinstance(message, onnx.TensorProto):
        if message.data_location == onnx.TensorProto.EXTERNAL:
            yield message
        return
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from external_tensors(part)


class ExternalFiles:
    """The files in a model's folder; `folder` is None for a model that was not read from a file."""

    def __init__(self, folder: Path | None) -> None:
        self._root = None if folder is None else folder.resolve()
        self._mapped: dict[Path, Array] = {}

    def check(self, model: "onnx.ModelProto") -> None:
        """Raise NIR_ONNX003 if a tensor is outside the folder, NIR_ONNX002 if it is not in a plain
        file.

        A missing file is reported when it is read.
        """
        for location, tensor in {
            entries_of(t).get("location", ""): t for t in external_tensors(model)
        }.items():
            self.place(location, f"tensor '{tensor.name}'" if tensor.name else "a tensor")

    def place(self, location: str, what: str) -> Path:
        """Return the path of a file, which is checked but not opened (NIR_ONNX002, NIR_ONNX003)."""
        root = self._root
        if root is None:
            raise NeuronError(
                "NIR_ONNX002",
                f"{what} is stored in '{location}', but the model was not read from a file",
                help="pass the path of the model",
            )
        path = Path(location)
        inside = location and not path.is_absolute() and "\0" not in location
        try:
            found = (root / path).resolve() if inside else None
            if found is None or not found.is_relative_to(root) or found == root:
                raise NeuronError(
                    "NIR_ONNX003",
                    f"{what} is stored in '{location}', which is outside the model's folder",
                    help="external data must be in the model's folder or below it",
                )
            plain = found.is_file() or not found.exists()
        except (OSError, RuntimeError) as error:  # a name that is too long, or a cycle of links
            text = f"{what} is stored in '{location}', which cannot be found: {error}"
            raise NeuronError("NIR_ONNX002", text) from error
        if not plain:
            raise NeuronError(
                "NIR_ONNX002", f"{what} is stored in '{location}', which is not a regular file"
            )
        return found

    def map(self, location: str, what: str) -> Array:
        """Return the bytes of a file, memory-mapped and read-only."""
        found = self.place(location, what)
        assert self._root is not None
        if found not in self._mapped:
            if not found.is_file():
                raise NeuronError(
                    "NIR_ONNX002", f"{what} is stored in '{location}', which is not a file"
                )
            try:
                with open_below(self._root, found) as file:
                    mapped = mapped_file(file)
            except OSError as error:
                raise input_error(str(found), error) from error
            self._mapped[found] = mapped
        return self._mapped[found]
