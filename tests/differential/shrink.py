"""A failing program made smaller: its choices are replayed with some left out or lowered."""

import random
from collections.abc import Callable, Sequence
from typing import Any


class Choices:
    """A `pick` that draws from a seed, or replays indices, and remembers what it took."""

    def __init__(self, seed: int | None = None, replay: Sequence[int] = ()) -> None:
        self.chance = random.Random(seed) if seed is not None else None
        self.replay = replay
        self.taken: list[int] = []

    def __call__(self, options: Sequence[Any]) -> Any:
        options = list(options)
        if self.chance is not None:
            index = self.chance.randrange(len(options))
        else:
            k = len(self.taken)
            index = min(self.replay[k] if k < len(self.replay) else 0, len(options) - 1)
        self.taken.append(index)
        return options[index]


def shrink(
    taken: Sequence[int], fails: Callable[[Sequence[int]], bool], tries: int = 300
) -> list[int]:
    """The smallest sequence of choices found in `tries` calls of `fails` for which it holds."""
    best = list(taken)
    left = tries
    progress = True
    while progress and left > 0:
        progress = False
        for width in (8, 4, 2, 1):
            k = 0
            while k < len(best) and left > 0:
                left -= 1
                shorter = best[:k] + best[k + width :]
                if fails(shorter):
                    best, progress = shorter, True
                else:
                    k += width
        for k in range(len(best)):
            for value in sorted({0, best[k] // 2, best[k] - 1}):
                if left > 0 and 0 <= value < best[k]:
                    left -= 1
                    lower = [*best[:k], value, *best[k + 1 :]]
                    if fails(lower):
                        best, progress = lower, True
                        break
    return best
