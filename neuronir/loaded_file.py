"""Load a Python file that defines the user's passes, dialects or targets (`--load FILE.py`)."""

import ast
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from xdsl.universe import Universe

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.inputs import read_input
from neuronir.dialects.support.output import input_error
from neuronir.targets.registry import register_target

_T = TypeVar("_T")


@dataclass(frozen=True)
class LoadedFile:
    """A loaded file: its path, the sha256 of its bytes, and the passes and dialects it defines.

    `imports` are the top-level names of the packages that it imports.
    """

    path: str
    digest: str
    universe: Universe
    imports: frozenset[str]


_loaded: dict[tuple[str, str], LoadedFile] = {}
"""The loaded files by absolute path and digest."""


def load_file(path: str) -> LoadedFile:
    """Execute a Python file, and return the PASSES and DIALECTS that it defines.

    PASSES and DIALECTS are lists of pass classes and dialects, or dicts of name to factory.
    TARGETS, a list of target objects, are registered. A process executes a file only once, unless
    it changes.
    Raises NIR_INPUT if the file cannot be read, NIR_LOAD if it fails or defines nothing.
    """
    try:
        data = read_input(path)
    except OSError as error:
        raise input_error(path, error) from error
    digest = hashlib.sha256(data).hexdigest()
    key = os.path.abspath(path), digest
    if key not in _loaded:
        _loaded[key] = _execute(path, data, digest)
    return _loaded[key]


def _execute(path: str, data: bytes, digest: str) -> LoadedFile:
    stem = re.sub(r"\W", "_", Path(path).stem)
    name = f"neuron_opt_load_{len(_loaded)}_{stem}"
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module  # dataclasses look up annotations there
    try:
        tree = ast.parse(data, path)
        exec(compile(tree, path, "exec"), module.__dict__)
    # The file is the user's program: any exception is shown as their error.
    except Exception as error:
        del sys.modules[name]
        raise NeuronError(
            "NIR_LOAD", f"'{path}' fails when loaded: {type(error).__name__}: {error}"
        ) from error
    universe = Universe(
        all_dialects=_factories(getattr(module, "DIALECTS", ())),
        all_passes=_factories(getattr(module, "PASSES", ())),
    )
    targets = list(getattr(module, "TARGETS", ()))
    if not (universe.all_dialects or universe.all_passes or targets):
        raise NeuronError("NIR_LOAD", f"'{path}' does not define PASSES, DIALECTS or TARGETS")
    for target in targets:
        register_target(target)
    return LoadedFile(path, digest, universe, frozenset(_imports(tree)))


def _imports(tree: ast.Module) -> set[str]:
    """Return the top-level names of the packages that a module imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def _factories(given: Mapping[str, Callable[[], _T]] | Iterable[_T]) -> dict[str, Callable[[], _T]]:
    """Return a dict of factories unchanged; map a list of things by their names."""
    if isinstance(given, Mapping):
        return dict(given)
    named: dict[str, Callable[[], _T]] = {}
    for thing in given:
        name = getattr(thing, "name")  # noqa: B009
        named[name] = lambda thing=thing: thing  # type: ignore[misc]
    return named
