"""Store models in the cache for a later compile, which neuron_parallel_compile runs.

A graph is `<folder>/neuronxcc-<version>/GRAPH_<model>+<how>/`, next to the entry that its compile
creates. It has copies of the model's files in `files/`, and the options in `graph.json`. As with
entries, only its owner may have write access, because it contains the options of a compile.
"""

import errno
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuronir.cache import Cache, Key, Store
from neuronir.cache_entry import read_owned
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.printable import printable
from neuronir.frontends.bindings import path_of_io_config

COLLECT = "NEURON_EXTRACT_GRAPHS_ONLY"
"""The environment variable that makes compiles store their models instead of compiling them."""

PYTHON = "neuronir"
"""The program of graphs that the Python interfaces store: the model is the folder of a job."""

GRAPH = "GRAPH_"
"""How the name of a stored model's folder begins."""

_MODULE = "MODULE_"
_FILES, _ABOUT = "files", "graph.json"
_DIGITS = 8
_PATHS = ("weights", "io_config")


@dataclass(frozen=True)
class Graph:
    """A stored model: its folder, the program that compiles it, and its options.

    Paths in the options are those of the copies.
    """

    folder: Path
    program: str
    given: Mapping[str, Any]

    @property
    def name(self) -> str:
        """A unique name for people: the model's name, and digits of its key."""
        model, _, how = self.folder.name.removeprefix(GRAPH).partition("+")
        name = self.given.get("name") or Path(self.given["model"][0]).name
        return f"{name} ({model[:_DIGITS]}+{how[:_DIGITS]})"


@dataclass(frozen=True)
class RefusedGraph:
    """A stored model that is not compiled, and why: damaged, or other users could change it."""

    folder: Path
    why: str


def collecting() -> bool:
    """Return whether compiles must store their models."""
    return os.environ.get(COLLECT) == "1"


def extracted(folder: Path) -> str:
    """Return the message about a collected model."""
    return (
        f"Extracting graphs ({printable(str(folder))}) for ahead-of-time parallel compilation. "
        "No compilation was done."
    )


def collect(
    store: Store, key: Key, program: str, given: Mapping[str, Any], files: Sequence[str]
) -> Path:
    """Store a model that consists of `files`; return the folder of the graph.

    `given` are the options by their names in the parser of `program`. Raises OSError if a file
    cannot be copied, NIR_MANY005 if the cache is not in a folder.
    """

    def write(part: Path) -> dict[str, Any]:
        return _write_files(part, given, files)

    return store_graph(store, key.entry, program, write)


def store_graph(
    store: Store, entry: Path, program: str, write: Callable[[Path], Mapping[str, Any]]
) -> Path:
    """Store the graph of an entry; return its folder.

    `write` writes the files to a folder and returns the options for `program`, with paths relative
    to that folder. Raises NIR_MANY005 if the cache is not in a folder, OSError if it cannot be
    written.
    """
    if not isinstance(store, Cache):
        raise NeuronError(
            "NIR_MANY005",
            "models cannot be collected in a cache at a URL",
            help="collect them in a folder (NEURON_COMPILE_CACHE_URL)",
        )
    graph = entry.with_name(GRAPH + entry.name.removeprefix(_MODULE))
    with store.part(graph) as part:
        about = {"program": program, "given": dict(write(part))}
        (part / _ABOUT).write_text(json.dumps(about))
        (part / _ABOUT).chmod(0o600)
        part.chmod(0o700)
        with suppress(FileNotFoundError):
            shutil.rmtree(graph)  # of the same model; possibly incomplete
        try:
            part.rename(graph)
        except OSError as error:  # another process may have stored the same graph first
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
    return graph


def _write_files(part: Path, given: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """Copy the files of a model and of its options; return the options with the copies."""
    changed = dict(given)
    copies = part / _FILES
    model = Path(os.path.abspath(given["model"][0]))
    for file in files:
        _copy(file, model.parent, copies / "model")
    changed["model"] = [f"{_FILES}/model/{model.name}"]
    for name in _PATHS:
        path = given.get(name)
        if path and name == "io_config":
            path = path_of_io_config(path)
        if path and os.path.isfile(path):
            (copies / name).mkdir(parents=True)
            shutil.copyfile(path, copies / name / Path(path).name)
            changed[name] = f"{_FILES}/{name}/{Path(path).name}"
    changed["load"] = []
    for number, path in enumerate(given["load"]):
        copy = f"{_FILES}/load/{number}/{Path(path).name}"
        (part / copy).parent.mkdir(parents=True)
        shutil.copyfile(path, part / copy)
        changed["load"].append(copy)
    return changed


def _copy(file: str, root: Path, folder: Path) -> None:
    """Copy a file below `root` to the same relative path below `folder`."""
    found = Path(os.path.abspath(file))
    if not found.is_relative_to(root):
        root = Path(os.path.realpath(root))  # frontends resolve links
    target = folder / found.relative_to(root)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)


def graphs(store: Cache) -> list[Graph | RefusedGraph]:
    """Return the stored models by name, also those that must not be compiled."""
    found: list[Graph | RefusedGraph] = []
    for folder in sorted(store.folder.glob(f"neuronxcc-*/{GRAPH}*")):
        try:
            found.append(_graph(folder))
        except OSError as error:
            if folder.exists():  # another process may remove it at the same time
                found.append(RefusedGraph(folder, error.strerror or str(error)))
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            found.append(RefusedGraph(folder, f"'{_ABOUT}' is damaged"))
    return found


def _graph(folder: Path) -> Graph:
    """Read a stored model; raises OSError, ValueError or other errors if it is malformed."""
    about = json.loads(read_owned(folder, _ABOUT))
    given = dict(about["given"])
    given["model"] = [os.fspath(folder / given["model"][0])]
    for name in _PATHS:
        if str(given.get(name)).startswith(f"{_FILES}/{name}/"):
            given[name] = os.fspath(folder / given[name])
    given["load"] = [os.fspath(folder / path) for path in given["load"]]
    return Graph(folder, str(about["program"]), given)


def remove(graph: Graph | RefusedGraph) -> None:
    """Remove a stored model."""
    shutil.rmtree(graph.folder, ignore_errors=True)
