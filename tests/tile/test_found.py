"""Random programs that the tiled level once compiled wrongly, or crashed on, by their seeds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import entry_signature
from neuronir.frontends.hlo_text import import_hlo_text
from tests.differential.stages import failures

FOUND = sorted((Path(__file__).parent / "found").glob("*.hlo"))


def arguments(text: str) -> list[Any]:
    """Numbers near one, and whole ones that are indices of all dimensions."""
    rng = np.random.default_rng(1)
    made: list[Any] = []
    for shape, dtype in entry_signature(import_hlo_text(text, "found.hlo")):
        whole = np.issubdtype(dtype, np.integer)
        values = rng.integers(0, 2, shape) if whole else rng.normal(size=shape)
        made.append(values.astype(dtype))
    return made


@pytest.mark.parametrize("path", FOUND, ids=[path.stem for path in FOUND])
@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.thin(3)
def test_found(path: Path, cast: str) -> None:
    """The interpreter, the tiled module, the nc module and the binary agree."""
    text = path.read_text()
    assert not failures(text, arguments(text), cast, None, ("tiled", "virtual", "binary"))
