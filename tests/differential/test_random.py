"""Random programs: the interpreter, the nc module of each phase and the binary agree."""

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuronir.dialects.support.errors import NeuronError
from tests.differential.generate import program
from tests.differential.stages import failures

REFUSED = {"NCC_EOOM002", "NCC_EVRF001", "NIR_LOW001", "NIR_LOW003", "NIR_LOW004"}
"""Codes of programs that need more memory or a layout that there is not; never a wrong answer."""


def _check(text: str, args: list[Any], cast: str) -> bool:
    """Whether it was compiled; an assertion fails where a result is wrong."""
    try:
        wrong = failures(text, args, cast, None, ("virtual", "synchronised", "binary"))
    except NeuronError as error:
        assert error.code in REFUSED, f"{error}\n{text}"
        return False
    assert not wrong, "\n".join([*wrong, text])
    return True


@pytest.mark.parametrize("cast", ["none", "matmult"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_programs(cast: str, data: st.DataObject) -> None:
    drawn = program(lambda options: data.draw(st.sampled_from(list(options))), steps=4)
    _check(drawn.text(), drawn.inputs(0), cast)


def test_most_programs_compile() -> None:
    """Of a fixed sample at most one in twenty is refused."""
    done = 0
    for seed in range(40):
        chance = random.Random(seed)
        drawn = program(lambda options, c=chance: c.choice(list(options)), 5)  # type: ignore[misc]
        done += _check(drawn.text(), drawn.inputs(seed), "none")
    assert done >= 38


@pytest.mark.slow
def test_many_random_programs() -> None:
    for seed in range(10_000, 10_500):
        chance = random.Random(seed)
        drawn = program(lambda options, c=chance: c.choice(list(options)), 8)  # type: ignore[misc]
        _check(drawn.text(), drawn.inputs(seed), chance.choice(["none", "matmult"]))
