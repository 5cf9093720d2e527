"""torch's own samples of every operator: what is imported is right, or refused by name."""

from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from neuronir.dialects.support.errors import NeuronError  # noqa: E402
from tests.frontends.torch import opinfo  # noqa: E402
from tests.frontends.torch.support import difference, imported_results  # noqa: E402

pytestmark = pytest.mark.slow

LEAST = 50
"""Cases of a group that have to be right."""


def _places_differ(name: str, ours: Any, values: Any, tensors: list[Any], dim: int) -> str | None:
    """How the places of the largest elements are wrong, None if they are right.

    Each element has the value that torch gives, and none is named twice. Which of equal elements
    is named is not defined.
    """
    places = torch.from_numpy(ours.copy())
    if not torch.equal(torch.gather(tensors[0], dim, places), values):
        return f"{name}: the elements at {ours} are not {values}"
    ordered = places.sort(dim).values if places.ndim else places.reshape(1)
    twice = places.ndim and bool((ordered.diff(dim=dim) == 0).any())
    return f"{name}: {ours} names an element twice" if twice else None


@pytest.mark.parametrize("group", range(opinfo.GROUPS))
def test_right_or_refused(group: int) -> None:
    found: Counter[str] = Counter()
    wrong = []
    for name, function, tensors, dim in opinfo.cases(group):
        wanted = opinfo.wanted_of(function, tensors)
        if not wanted:
            continue
        try:
            results = imported_results(function, tensors)
        except NeuronError as error:
            assert error.code in ("NCC_EUOC002", "NCC_ESPP004") or error.code.startswith("NIR_")
            found["refused"] += 1
            continue
        except AssertionError as error:
            wrong.append(f"{name} {[tuple(t.shape) for t in tensors]}: {error}")
            continue
        texts = [difference(o, t) for o, t in zip(results, wanted, strict=True)]
        if name.startswith("topk "):
            texts[1] = _places_differ(name, results[1], wanted[0], tensors, dim)
        if any(texts):
            wrong.append(f"{name} {[tuple(t.shape) for t in tensors]}: {texts}")
        found["right"] += 1
    print(dict(found))
    assert not wrong, "\n".join(wrong)
    assert found["right"] >= LEAST, found
