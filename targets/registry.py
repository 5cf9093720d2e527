"""Find machine targets by name, from this package and others.

A target is any object with the attributes of `TargetLike`. A package registers one with an entry
point of the group `neuronir.targets`; the name of the entry point is what users type.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from neuronir.dialects.nc.machine import Machine, register_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.encoding.encoding import Encoding

if TYPE_CHECKING:
    from neuronir.passes.hlo.legality import Legality  # the simulator works without passes

GROUP = "neuronir.targets"

# A checkout that is not installed has no entry points; its targets are known anyway.
_OURS = {"trn1": "neuronir.targets.trn1:TARGET", "inf1": "neuronir.targets.inf1:TARGET"}

_extra: dict[str, "TargetLike"] = {}


@runtime_checkable
class TargetLike(Protocol):
    """The attributes of every target; programs may use further ones.

    `machine` is the machine description, `pipelines` maps a name to a pass string that
    `neuron-opt -p` takes. A target may also have a `legality` and an `encoding` (`Target`).
    """

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def machine(self) -> Any: ...

    @property
    def pipelines(self) -> Mapping[str, str]: ...


def _references() -> dict[str, str]:
    """Map target names to `module:attribute`, from installed packages and this one."""
    found = dict(_OURS)
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        if found.get(point.name, point.value) != point.value:
            raise NeuronError(
                "NIR_TARGET",
                f"two packages register a target named '{point.name}': "
                f"{found[point.name]} and {point.value}",
                help="uninstall one of them",
            )
        found[point.name] = point.value
    return found


def own_targets() -> list[str]:
    """Return the names of the targets of this package, as they are compared by default."""
    return list(_OURS)


def is_ours(name: str) -> bool:
    """Return True for a target of this package, whatever others are installed."""
    return name in _OURS and name not in _extra


def legality_for(target: TargetLike) -> "Legality":
    """Return what a target can compile: its own table, or the one that follows from its machine."""
    from neuronir.passes.hlo import legality

    return legality.legality_for(target, target.machine)


def installed_encoding(target: str, format_: str) -> Encoding | None:
    """Return the encoding of a target for files in this format, or None if it is unknown."""
    if target not in list_targets():
        return None
    own = getattr(get_target(target), "encoding", None)
    return own if isinstance(own, Encoding) and own.format == format_ else None


def register_target(target: TargetLike) -> None:
    """Add a target for this process only (`neuron-opt --load FILE.py`, tests)."""
    if target.name in list_targets():
        raise NeuronError("NIR_TARGET", f"there is already a target named '{target.name}'")
    _extra[target.name] = target
    if isinstance(target.machine, Machine):
        from neuronir.passes.hlo.legality import register_legality

        register_machine(target.machine)
        register_legality(legality_for(target))


def list_targets() -> list[str]:
    """Return the names of all targets, sorted, without importing them."""
    return sorted({*_references(), *_extra})


def get_target(name: str) -> TargetLike:
    """Return the target with this name; NeuronError lists the known ones if there is none."""
    if name in _extra:
        return _extra[name]
    references = _references()
    if name not in references:
        raise NeuronError(
            "NIR_TARGET",
            f"unknown target '{name}'",
            help=f"known targets: {', '.join(list_targets())}",
        )
    module, _, attribute = references[name].partition(":")
    try:
        target = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise NeuronError(
            "NIR_TARGET", f"target '{name}' ({references[name]}) cannot be loaded: {error}"
        ) from error
    if not isinstance(target, TargetLike):
        raise NeuronError(
            "NIR_TARGET",
            f"{references[name]} is not a target: it needs name, description, machine, pipelines",
        )
    return target
