"""Loops, branches, updates in place and concatenations are right, as XLA judges them."""

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.differential.second.__main__ import CASTS, OPTLEVELS, outcomes
from tests.differential.second.generate import BUILDS
from tests.differential.second.judge import Configuration, judge
from tests.differential.second.nests import build_nests
from tests.differential.shrink import Choices

LITTLE = [Configuration("trn1", c, o, "always", 0.002) for c in CASTS for o in OPTLEVELS]
WAYS = {
    "little room": LITTLE,
    "tiled": [Configuration("trn1", c, o, "always") for c in CASTS for o in OPTLEVELS],
    "direct": [
        *(Configuration("trn1", c, o, "never") for c in CASTS for o in OPTLEVELS),
        *(Configuration("inf1", c, o) for c in CASTS for o in OPTLEVELS),
    ],
}
FOUND = (
    # A loop that carries nothing made tile-assign-layouts skip the function.
    (1043, Configuration("trn1", "matmult", 3, "always", 0.002)),
    # nc-order-triggers moved a transfer before the load of the register in its address.
    (1189, Configuration("trn1", "none", 2, "always", 0.002)),
    # nc-verify-order refused a schedule of updates with one register, which never meet.
    (1190, Configuration("trn1", "none", 2, "always", 0.002)),
)
"""Programs that were once compiled wrongly, or not."""


def _judged(kind: str, seeds: Sequence[int], chosen: Sequence[Configuration]) -> Counter[str]:
    """How many programs had which outcome; fails where one is wrong or the compiler crashes."""
    counts: Counter[str] = Counter()
    bad = []
    for seed, configuration, outcome in outcomes(seeds, chosen, build=BUILDS[kind]):
        counts[outcome.kind] += 1
        if outcome.kind not in ("right", "refused"):
            bad.append(f"{seed} {configuration} {outcome.kind}: {outcome.detail or outcome.cause}")
    assert not bad, "\n".join(bad)
    return counts


@pytest.mark.parametrize("kind", ["nests", "joins"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.thin(3)
def test_random_programs(way: str, kind: str) -> None:
    first = 40 * list(WAYS).index(way)
    counts = _judged(kind, range(first, first + 8), WAYS[way])
    assert counts["right"] >= 0.6 * sum(counts.values()), counts


@pytest.mark.parametrize(("seed", "configuration"), FOUND)
def test_found_nests(seed: int, configuration: Configuration) -> None:
    outcome = judge(build_nests(Choices(seed=seed), seed), configuration)
    assert outcome.kind == "right", outcome.detail


@pytest.mark.parametrize("way", ["little room", "tiled"])
def test_random_conditions(way: str) -> None:
    first = 40 * list(WAYS).index(way)
    counts = _judged("conditions", range(first, first + 8), WAYS[way])
    assert counts["right"] >= 0.6 * sum(counts.values()), counts


@pytest.mark.slow
@pytest.mark.parametrize("way", ["little room", "tiled"])
def test_many_random_conditions(way: str) -> None:
    _judged("conditions", range(2000, 2300), WAYS[way])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nests", "joins"])
@pytest.mark.parametrize("way", WAYS)
def test_many_random_programs(way: str, kind: str) -> None:
    _judged(kind, range(2000, 2500), WAYS[way])
