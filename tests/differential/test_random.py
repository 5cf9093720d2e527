"""Random programs: the interpreter, the nc module of each phase and the binary agree."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuronir.dialects.support.errors import NeuronError
from tests.differential.generate import program
from tests.differential.generate_products import products
from tests.differential.shrink import Choices, shrink
from tests.differential.stages import failures

REFUSED = {"NCC_EOOM002", "NCC_EVRF001", "NIR_LOW001", "NIR_LOW003", "NIR_LOW004"}
"""Codes of programs that need more memory or a layout that there is not; never a wrong answer."""


PHASES = ("virtual", "synchronised", "binary")


def _check(text: str, args: list[Any], cast: str) -> bool:
    """Whether it was compiled; an assertion fails where a result is wrong."""
    try:
        wrong = failures(text, args, cast, None, PHASES)
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


def _check_products(seed: int) -> bool:
    """Whether the program of a seed was compiled; one that is wrong is shown shrunk."""
    cast = ("none", "matmult")[seed % 2]
    choices = Choices(seed)
    drawn = products(choices, 7)

    def fails(taken: Sequence[int]) -> bool:
        smaller = products(Choices(replay=taken), 7)
        try:
            return bool(failures(smaller.text(), smaller.inputs(0), cast, None, PHASES))
        except NeuronError:
            return False

    try:
        wrong = failures(drawn.text(), drawn.inputs(0), cast, None, PHASES)
    except NeuronError as error:
        assert error.code == "NCC_EOOM002", f"{error}\n{drawn.text()}"
        return False
    if wrong:
        small = products(Choices(replay=shrink(choices.taken, fails)), 7)
        raise AssertionError("\n".join([*wrong, small.text()]))
    return True


def test_random_products() -> None:
    """What networks put around dots and convolutions; of a fixed sample almost all compile."""
    assert sum(_check_products(seed) for seed in range(15)) >= 14


@pytest.mark.slow
def test_many_random_products() -> None:
    for seed in range(1000, 1300):
        _check_products(seed)
