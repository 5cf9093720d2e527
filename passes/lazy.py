"""Import passes on first use."""

from collections.abc import Callable, Mapping
from importlib import import_module

from xdsl.passes import ModulePass

Passes = dict[str, Callable[[], type[ModulePass]]]
"""Maps a pass name to a function that imports and returns its class."""


def lazy(package: str, classes: Mapping[str, tuple[str, str]]) -> Passes:
    """Return the passes of a package, given the module and the class of each."""

    def factory(module: str, name: str) -> Callable[[], type[ModulePass]]:
        def load() -> type[ModulePass]:
            found: type[ModulePass] = getattr(import_module(f"{package}.{module}"), name)
            return found

        return load

    return {name: factory(*where) for name, where in classes.items()}
