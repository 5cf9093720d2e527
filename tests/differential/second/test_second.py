"""Random programs of the second generator are right or refused by name, as XLA judges them."""

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from tests.differential.second.__main__ import CASTS, EVERY, OPTLEVELS, outcomes
from tests.differential.second.generate import program
from tests.differential.second.judge import Configuration, judge
from tests.differential.second.oracle import values
from tests.differential.second.program import Instr, Program, Shape, array_of, literal

FAST = range(42)
SLOW = range(1000, 1400)


LITTLE = [Configuration("trn1", c, o, "always", 0.002) for c in CASTS for o in OPTLEVELS]
"""So little room for tile-fuse that small programs have loops over tiles."""
LOOPED = (
    (201186, Configuration("trn1", "none", 2, "always")),
    (220010, Configuration("trn1", "matmult", 1, "always", 0.002)),
    (220054, Configuration("trn1", "none", 1, "always", 0.002)),
    (220139, Configuration("trn1", "matmult", 3, "always", 0.002)),
    (220390, Configuration("trn1", "matmult", 3, "always", 0.0006)),
    (230479, Configuration("trn1", "none", 3, "always", 0.002)),
)
"""Programs that the tiled way once compiled wrongly, or not."""


def _judged(seeds: Sequence[int], chosen: Sequence[Configuration] = EVERY) -> Counter[str]:
    """How many programs had which outcome; fails where one is wrong or the compiler crashes."""
    counts: Counter[str] = Counter()
    bad = []
    for seed, configuration, outcome in outcomes(seeds, chosen):
        counts[outcome.kind] += 1
        if outcome.kind not in ("right", "refused"):
            bad.append(f"{seed} {configuration} {outcome.kind}: {outcome.detail or outcome.cause}")
    assert not bad, "\n".join(bad)
    return counts


def test_random_programs() -> None:
    counts = _judged(FAST)
    assert counts["right"] >= 0.6 * sum(counts.values()), counts


@pytest.mark.parametrize(("seed", "configuration"), LOOPED)
def test_loops_over_tiles(seed: int, configuration: Configuration) -> None:
    outcome = judge(program(seed), configuration)
    assert outcome.kind == "right", outcome.detail


@pytest.mark.slow
def test_many_loops_over_tiles() -> None:
    _judged(SLOW, LITTLE)


@pytest.mark.slow
def test_many_random_programs() -> None:
    counts = _judged(SLOW)
    assert counts["right"] >= 0.6 * sum(counts.values()), counts


def test_a_seed_gives_one_program() -> None:
    """The same text in every process: nothing depends on hashes or on the order of sets."""
    texts = "".join(program(seed).text() for seed in range(10))
    digest = hashlib.sha256(texts.encode()).hexdigest()[:16]
    assert digest == "8b81c3f0346e8d23"


_SLICED = {
    "dynamic-slice": (Shape("s8"), ", dynamic_slice_sizes={10}"),
    "gather": (
        Shape("s8", (1,)),
        ", offset_dims={0}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=0"
        ", slice_sizes={10}",
    ),
}


@pytest.mark.parametrize("start", [5, -5, 100])
@pytest.mark.parametrize("opcode", _SLICED)
def test_slices_of_slices_are_clamped_each(opcode: str, start: int) -> None:
    """XLA alone would take 10 elements from start + 300 or start + 600 on, or of that in 8 bits."""
    index, attributes = _SLICED[opcode]
    for outer in (300, 600):
        instrs = [
            Instr("x", "parameter", (Shape("s32", (600,)),)),
            Instr("i", "parameter", (Shape("s32"),)),
            Instr("j", "parameter", (index,)),
            Instr(
                "a",
                "dynamic-slice",
                (Shape("s32", (100,)),),
                ("x", "i"),
                ", dynamic_slice_sizes={100}",
            ),
            Instr("b", opcode, (Shape("s32", (10,)),), ("a", "j"), attributes),
        ]
        x = np.arange(600, dtype=np.int32)
        j = np.full(index.dims, start, np.int8)
        found = values(Program(instrs, ["b"], {"x": x, "i": np.array(outer, np.int32), "j": j}))
        first = min(outer, 500) + min(max(start, 0), 90)
        assert (found["b"] == x[first : first + 10]).all()


def test_literals_of_64_bits_are_read_exactly() -> None:
    """Numbers on both sides of 2^63 in one literal."""
    array = np.array([7461732757248280023, 2**64 - 1, 2**63 + 1], np.uint64)
    assert array_of(literal(array), Shape("u64", (3,))).tolist() == array.tolist()
