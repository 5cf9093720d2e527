"""Rules of other packages for their ops: how those are laid out and lowered at the tiled level.

A package names a module in an entry point of the group `neuronir.rules`; as the module is imported
it registers its rules (`register_plans`, `register_lowering`). It is imported when the first pass
of the tiled level runs, so that whoever only reads or prints the dialect does not pay for it.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from neuronir.dialects.support.errors import NeuronError

GROUP = "neuronir.rules"


@cache
def load_rules() -> None:
    """Import what other packages register, once; NIR_PLUGIN says which of them fails."""
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        try:
            import_module(point.value)
        # A plugin may fail in any way at all while it is imported; the user must learn which.
        except Exception as error:
            raise NeuronError(
                "NIR_PLUGIN",
                f"rules '{point.name}' ({point.value}) cannot be loaded: "
                f"{type(error).__name__}: {error}",
                help="repair or uninstall the package that registers them",
            ) from error
