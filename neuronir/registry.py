"""Register everything that neuron-opt knows by name, from xDSL, NeuronIR, plugins and `--load`."""

import importlib.util
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeVar

from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

from neuronir.diagnostics.output import input_error
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.pipelines import PIPELINES
from neuronir.targets.registry import get_target, list_targets, register_target
from neuronir.universe import NEURONIR_UNIVERSE

_T = TypeVar("_T")
PassFactory = Callable[[], type[ModulePass]]


@dataclass
class Registry:
    """Maps names to factories; the module of a factory is imported on first use.

    `owners` gives the package of a dialect or pass, for --list-passes.
    """

    dialects: dict[str, Callable[[], Dialect]] = field(default_factory=dict)
    passes: dict[str, PassFactory] = field(default_factory=dict)
    formats: dict[str, Callable[[], type[Target]]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)

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

        PASSES and DIALECTS are lists of pass classes and dialects, or dicts of name to factory.
        TARGETS is a list of target objects.
        """
        stem = re.sub(r"\W", "_", Path(path).stem)
        spec = importlib.util.spec_from_file_location(f"neuron_opt_load_{stem}", path)
        if spec is None or spec.loader is None:
            raise NeuronError("NIR_LOAD", f"cannot load '{path}': it is not a Python file")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except OSError as error:
            raise input_error(path, error) from error
        # The file is the user's program: any exception is shown as their error.
        except Exception as error:
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
        self.add_universe(path, universe)
        for target in targets:
            register_target(target)

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
                    r"|hlo-assign-layouts|hlo-choose-blocks|lower-hlo-to-nc"
                    r"|tile-pad-axes|tile-fuse|tile-assign-layouts|lower-tile-to-nc)(?!\{)",
                    rf"\1{{target={name}}}",
                    text,
                )
                named[name if part == "default" else f"{name}:{part}"] = bound
        return named


def _factories(given: Mapping[str, Callable[[], _T]] | Iterable[_T]) -> dict[str, Callable[[], _T]]:
    """Return a dict of factories unchanged; map a list of things by their names."""
    if isinstance(given, Mapping):
        return dict(given)
    named: dict[str, Callable[[], _T]] = {}
    for thing in given:
        name = getattr(thing, "name")  # noqa: B009
        named[name] = lambda thing=thing: thing  # type: ignore[misc]
    return named
