"""Load the layout and lowering rules of other packages for their ops.

A package names a module in an entry point of the group `neuronir.rules`. The module registers its
rules on import (`register_plans`, `register_lowering`). It is imported when the first pass of the
tiled level runs, so that programs that only read or print the dialect do not pay for it.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from neuronir.dialects.support.errors import NeuronError

GROUP = "neuronir.rules"


@cache
def load_rules() -> None:
    """Import the registered modules once; NIR_PLUGIN names a module that fails."""
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        try:
            import_module(point.value)
        # A plugin may fail in any way on import; the user must learn which one.
        except Exception as error:
            raise NeuronError(
                "NIR_PLUGIN",
                f"rules '{point.name}' ({point.value}) cannot be loaded: "
                f"{type(error).__name__}: {error}",
                help="repair or uninstall the package that registers them",
            ) from error
