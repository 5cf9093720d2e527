"""Find code that is part of a compile but not of its key in the cache."""

import sys
from typing import TYPE_CHECKING

from neuronir.cache import BUILT_ON

if TYPE_CHECKING:
    from neuronir.driver.user_passes import UserPasses


def unknown_code(users: "UserPasses | None") -> str | None:
    """Return which code of a compile the key would not contain, or None.

    The key contains the compiler and the loaded files, but no other packages.
    """
    if users is None:
        return None
    known = {"neuronir", *BUILT_ON, *sys.stdlib_module_names}
    for file in users.registry.files:
        if others := sorted(file.imports - known):
            return f"--load of a file that imports '{others[0]}'"
    ours = {"neuronir", "xdsl", *(file.path for file in users.registry.files)}
    for name in sorted(users.names()):
        if (owner := users.registry.owners[f"pass {name}"]) not in ours:
            return f"a pass of '{owner}'"
    return None
