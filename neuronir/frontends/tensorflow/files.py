"""Read TensorFlow model files: frozen graphs and SavedModels."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.inputs import read_input
from neuronir.dialects.support.output import input_error
from neuronir.dialects.support.printable import printable
from neuronir.frontends.tensorflow.schema import parse_binary, parse_text

LARGEST_FILE = (1 << 31) - 1
"""Protocol buffers hold at most 2 GiB."""
SIGNATURE = "serving_default"
TAG = "serve"
VARIABLES = "variables/variables"


@dataclass(frozen=True)
class File:
    """A file that was read: its GraphDef and, for a SavedModel, the signatures and the folder.

    `signatures` are SignatureDef messages by name. `digest` identifies the content.
    """

    name: str
    graph: Any
    digest: str = ""
    signatures: Any = None
    folder: Path | None = None


def files_of(path: str) -> list[str]:
    """Return the files of a model: itself, or for a SavedModel the graph and the checkpoint."""
    place = _graph_file(path)
    if place.stem != "saved_model":
        return [str(place)]
    shards = sorted((place.parent / VARIABLES).parent.glob("variables.*"))
    return [str(place), *map(str, shards)]


def _graph_file(path: str) -> Path:
    """Return the file that holds the graph."""
    place = Path(path)
    if not place.is_dir():
        return place
    for name in ("saved_model.pb", "saved_model.pbtxt"):
        if (place / name).is_file():
            return place / name
    raise NeuronError(
        "NIR_TF001",
        f"'{path}' is not a SavedModel: it has no saved_model.pb",
        help="pass a SavedModel folder or a frozen graph (.pb, .pbtxt)",
    )


def read_file(path: str) -> File:
    """Read a frozen GraphDef (.pb, .pbtxt) or a SavedModel (its folder, or its saved_model.pb).

    Raises NIR_TF001 if the file is neither.
    """
    place, name = _graph_file(path), printable(path)
    data = _read(place)
    text = place.suffix in (".pbtxt", ".pbtext")
    if place.stem == "saved_model":
        saved = _parse("SavedModel", data, text, name)
        meta = _meta_graph(saved, name)
        index = place.parent / f"{VARIABLES}.index"  # it has the checksums of the variables
        whole = data + (_read(index) if index.is_file() else b"")
        return File(name, meta.graph_def, _digest(whole), meta.signature_def, place.parent)
    return parse_graph(data, name, text=text)


def parse_graph(data: bytes, name: str, *, text: bool = False) -> File:
    """Parse a frozen graph from its bytes, or from its text form."""
    graph = _parse("GraphDef", data, text, name)
    if not graph.node:
        raise NeuronError(
            "NIR_TF001",
            f"'{name}' is not a GraphDef: it has no nodes",
            help="pass a frozen graph (.pb, .pbtxt) or a SavedModel folder",
        )
    return File(name, graph, _digest(data))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise NeuronError(
                "NIR_TF001",
                f"'{path}' is larger than 2 GiB, the limit of a protocol buffer",
                help="keep the variables in a checkpoint: use a SavedModel",
            )
        return read_input(path)
    except OSError as error:
        raise input_error(str(path), error) from error


def _parse(message: str, data: bytes, text: bool, path: str) -> Any:
    if not text:
        return parse_binary(message, data, f"'{path}'")
    try:
        return parse_text(message, data.decode(), f"'{path}'")
    except UnicodeDecodeError as error:
        raise NeuronError("NIR_TF001", f"'{path}' is not text") from error


def _meta_graph(saved: Any, path: str) -> Any:
    """Return the graph for serving; the first one if none is marked."""
    if not saved.meta_graphs:
        raise NeuronError("NIR_TF001", f"'{path}' is not a SavedModel: it has no graph")
    for meta in saved.meta_graphs:
        if TAG in meta.meta_info_def.tags:
            return meta
    return saved.meta_graphs[0]


def signature_of(file: File, wanted: str | None) -> Any:
    """Return the signature of a name: by default `serving_default`, or the only one.

    Returns None for a frozen graph; raises NIR_TF005 if there is no such signature.
    """
    if file.signatures is None:
        if wanted is not None:
            raise NeuronError(
                "NIR_TF005", f"--signature {wanted}: '{file.name}' is not a SavedModel"
            )
        return None
    known = sorted(n for n in file.signatures if not n.startswith("__saved_model_"))
    name = wanted
    if name is None:
        name = SIGNATURE if SIGNATURE in known or len(known) != 1 else known[0]
    if name not in known:
        raise NeuronError(
            "NIR_TF005",
            f"'{file.name}' has no signature '{name}'",
            help=("--signature takes one of: " + ", ".join(known))
            if known
            else "it has no signatures: save the model with some",
        )
    return file.signatures[name]


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key that puts output_2 before output_10."""
    parts = re.split(r"(\d+)", text)
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in parts]
