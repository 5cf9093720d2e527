"""Random lines of HLO text, each of which computes a value from earlier ones."""

import random
from collections.abc import Sequence


class RandomLines:
    """Draws operands among the values so far, and appends lines."""

    def __init__(self, seed: int, lines: Sequence[str], values: Sequence[str]) -> None:
        self._random = random.Random(seed)
        self._lines = list(lines)
        self._values = list(values)

    def _pick(self) -> str:
        return self._random.choice(self._values)

    def _add(self, text: str, kept: bool = True) -> str:
        """Append a value; later lines use it if it is `kept`."""
        name = f"v{len(self._lines)}"
        self._lines.append(f"{name} = {text}")
        if kept:
            self._values.append(name)
        return name
