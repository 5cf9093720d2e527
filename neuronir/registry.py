"""Register everything that neuron-opt knows by name, from xDSL, NeuronIR, plugins and `--load`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TypeVar

from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

from neuronir.dialects.support.errors import NeuronError
from neuronir.loaded_file import LoadedFile, load_file
from neuronir.passes.pipelines import PIPELINES
from neuronir.targets.registry import get_target, list_targets
from neuronir.universe import NEURONIR_UNIVERSE

_T = TypeVar("_T")
PassFactory = Callable[[], type[ModulePass]]


@dataclass
class Registry:
    """Maps names to factories; the module of a factory is imported on first use.

    `owners` gives the package of a dialect or pass, for --list-passes. `files` are those of --load.
    """

    dialects: dict[str, Callable[[], Dialect]] = field(default_factory=dict)
    passes: dict[str, PassFactory] = field(default_factory=dict)
    formats: dict[str, Callable[[], type[Target]]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    files: list[LoadedFile] = field(default_factory=list)

    @staticmethod
    def discover() -> "Registry":
        """Return all installed universes, and NeuronIR's even if it is not installed."""
        registry = Registry()
        registry.add_universe("neuronir", NEURONIR_UNIVERSE)
        for point in sorted(entry_points(group="xdsl.universe"), key=lambda p: p.name):
            if point.name == "neuronir":
                continue
            try:
                universe = point.load()
            # A plugin may fail in any way on import; the user must learn which one.
            except Exception as error:
                raise NeuronError(
                    "NIR_PLUGIN",
                    f"plugin '{point.name}' ({point.value}) cannot be loaded: "
                    f"{type(error).__name__}: {error}",
                    help="repair or uninstall the package that registers it",
                ) from error
            if not isinstance(universe, Universe):
                raise NeuronError(
                    "NIR_PLUGIN", f"plugin '{point.name}': {point.value} is not a Universe"
                )
            registry.add_universe(point.name, universe)
        return registry

    def add_universe(self, owner: str, universe: Universe) -> None:
        """Add what a plugin registers; a duplicate name is an error that names both owners."""
        self._add(owner, "dialect", self.dialects, universe.all_dialects)
        self._add(owner, "pass", self.passes, universe.all_passes)
        self._add(owner, "format", self.formats, universe.all_targets)

    def _add(
        self,
        owner: str,
        kind: str,
        known: dict[str, Callable[[], _T]],
        more: Mapping[str, Callable[[], _T]],
    ) -> None:
        for name, factory in more.items():
            if name in known:
                raise NeuronError(
                    "NIR_PLUGIN",
                    f"{kind} '{name}' of '{owner}' exists already in "
                    f"'{self.owners[f'{kind} {name}']}'",
                    help="rename it, or uninstall one of the two packages",
                )
            known[name] = factory
            self.owners[f"{kind} {name}"] = owner

    def load_file(self, path: str) -> None:
        """Add the PASSES, DIALECTS and TARGETS that a Python file defines.

        A file that is given twice is loaded once. Raises NIR_INPUT or NIR_LOAD.
        """
        file = load_file(path)
        if any(file is known for known in self.files):
            return
        self.add_universe(path, file.universe)
        self.files.append(file)

    def context(self, *, allow_unregistered: bool = False) -> Context:
        """Return a new context with every dialect registered, loaded on first use."""
        ctx = Context(allow_unregistered=allow_unregistered)
        for name, factory in self.dialects.items():
            ctx.register_dialect(name, factory)
        return ctx

    def pipelines(self) -> dict[str, str]:
        """Return the named pipelines.

        `<target>` is the whole compile without phase `tiled`, `<target>:tiling` with it,
        `<target>:<phase>` the passes that lead to a phase, and `<target>:<name>` another pipeline
        of the target. The others belong to no target.
        """
        from neuronir.driver.phases import pipelines_of

        named = dict(PIPELINES)
        for name in list_targets():
            target = get_target(name)
            for part, text in {**pipelines_of(target), **target.pipelines}.items():
                # The driver marks the module with its machine; here the pass needs an option.
                bound = re.sub(
                    r"\b(hlo-tile-batch|hlo-tile-rows|hlo-split-batch|hlo-split-attention"
                    r"|hlo-split-hidden|hlo-assign-layouts|hlo-choose-blocks|lower-hlo-to-nc"
                    r"|tile-split-softmax|tile-pad-axes|tile-fuse|tile-assign-layouts|lower-tile-to-nc)(?!\{)",
                    rf"\1{{target={name}}}",
                    text,
                )
                named[name if part == "default" else f"{name}:{part}"] = bound
        return named
