"""Bind the shapes and types of a model's inputs, and derive the others."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.inputs import read_input
from neuronir.dialects.support.output import input_error

if TYPE_CHECKING:
    from neuronir.dialects.support.npz import Array


@dataclass(frozen=True)
class Bindings:
    """The user's bindings of inputs and outputs.

    `shapes` are by input name, or, with a single value, by the name of a symbolic dimension.
    `dtypes` are by input name. `values` are inputs that become constants; they stay parameters
    without users. `outputs` are the values to compute (None: those of the model). `signature` is
    that of a SavedModel (None: the default one).
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    outputs: Sequence[str] | None = None
    values: Mapping[str, "Array"] = field(default_factory=dict)
    signature: str | None = None


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Parse shapes from `NAME=1x128` (`NAME=` is a scalar); raises NIR_ARG003 if one is
    malformed.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, equals, dims = text.rpartition("=")
        parts = dims.split("x") if dims else []
        if not equals or not name or not all(p.isdecimal() for p in parts):
            raise NeuronError(
                "NIR_ARG003",
                f"--input-shape '{text}' is malformed",
                help="write NAME=1x128",
            )
        if name in shapes:
            raise NeuronError("NIR_ARG003", f"--input-shape gives '{name}' twice")
        shapes[name] = tuple(int(p) for p in parts)
    return shapes


def path_of_io_config(text: str) -> str | None:
    """Return the path of the file that `--io-config` names; None if it is JSON text."""
    if text.lstrip().startswith(("{", "[")):
        return None
    if not text.startswith("file:"):
        return text
    from urllib.parse import urlsplit

    # imported late, because it imports many modules
    from urllib.request import url2pathname

    return url2pathname(urlsplit(text).path)


def parse_io_config(text: str) -> Bindings:
    """Parse bindings from `--io-config`: JSON text, or the path or file: URI of a JSON file.

    The form is {"inputs": {"name": [[dims], "dtype"]}, "outputs": ["name"]}; both keys are
    optional.
    """
    path = path_of_io_config(text)
    if path is not None:
        try:
            text = read_input(path).decode()
        except (OSError, UnicodeDecodeError) as error:
            raise (
                input_error(path, error)
                if isinstance(error, OSError)
                else NeuronError("NIR_ARG003", f"--io-config: '{path}' is not text")
            ) from error
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NeuronError("NIR_ARG003", f"--io-config is not JSON: {error}") from error
    if not isinstance(config, dict) or set(config) - {"inputs", "outputs"}:
        _malformed("it must be an object with 'inputs' and 'outputs'")
    shapes, dtypes = _inputs(config.get("inputs", {}))
    outputs = config.get("outputs")
    if outputs is not None and not (
        isinstance(outputs, list) and all(isinstance(name, str) for name in outputs) and outputs
    ):
        _malformed("'outputs' must be a list of names")
    return Bindings(shapes, dtypes, outputs)


def _inputs(inputs: Any) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    if not isinstance(inputs, dict):
        _malformed("'inputs' must be an object of names")
    shapes: dict[str, tuple[int, ...]] = {}
    dtypes: dict[str, str] = {}
    for name, entry in inputs.items():
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], str)):
            _malformed(f"input '{name}' must be [[dimensions], \"dtype\"]")
        dims, dtypes[name] = entry
        if not isinstance(dims, list) or any(type(n) is not int or n < 0 for n in dims):
            _malformed(f"the dimensions of input '{name}' must be numbers")
        shapes[name] = tuple(dims)
    return shapes, dtypes


def example_shape(name: str, dims: Sequence[int | None] | None) -> str:
    """Return an example of --input-shape for an input; unknown dimensions (None) are 1."""
    shown = "1x128" if dims is None else "x".join("1" if n is None else str(n) for n in dims)
    return f"--input-shape {name}={shown}"


def _malformed(what: str) -> None:
    raise NeuronError(
        "NIR_ARG003",
        f"--io-config: {what}",
        help='for example {"inputs": {"x": [[1, 128], "float32"]}, "outputs": ["y"]}',
    )


def merged(first: Bindings, second: Bindings) -> Bindings:
    """Merge two bindings; a name in both must have the same shape."""
    for name in first.shapes.keys() & second.shapes.keys():
        if first.shapes[name] != second.shapes[name]:
            raise NeuronError("NIR_ARG003", f"two shapes are given for input '{name}'")
    return Bindings(
        {**first.shapes, **second.shapes},
        {**first.dtypes, **second.dtypes},
        second.outputs if first.outputs is None else first.outputs,
        {**first.values, **second.values},
        second.signature if first.signature is None else first.signature,
    )
