"""Every model: compiled, written, read again and run, it gives what XLA gives."""

import pytest

from benchmarks.measure import judge
from neuronir.targets.registry import get_target
from tests.acceptance.programs import LARGE, SMALL, binary, model
from tests.corpus import CORPUS


def _check(name: str, cast: str, weights: bool = False) -> None:
    program = binary(name, cast, weights)
    verdict = judge(model(name), program, get_target("trn1"), cast, weights)
    assert verdict.ok, verdict.render()


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.thin(2)
def test_small_model(name: str, cast: str) -> None:
    _check(name, cast)


@pytest.mark.slow
@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("name", LARGE)
def test_large_model(name: str, cast: str) -> None:
    _check(name, cast)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_bound_weights(name: str) -> None:
    _check(name, "matmult", weights=True)


def test_no_model_is_left_out() -> None:
    there = {p.stem for folder in ("core", "odd") for p in (CORPUS / "hlo" / folder).glob("*.hlo")}
    assert there == {*SMALL, *LARGE}
