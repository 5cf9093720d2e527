"""A memset of more elements than an instruction takes is several, which cover all of them once."""

from math import prod

import numpy as np
import pytest

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.emitter import Emitter, _parts

TRN1 = get_machine("trn1")


def elements(view: View) -> list[int]:
    found = np.array([view.offset])
    for stride, count in view.free:
        found = (found[:, None] + stride * np.arange(count)).reshape(-1)
    return [int(n) for n in found]


@pytest.mark.parametrize(
    "free", [((1, 9),), ((20, 5), (4, 3), (1, 2)), ((1, 3), (100, 11)), ((-1, 7), (10, 3)), ()]
)
def test_parts_cover_a_view_once(free: tuple[tuple[int, int], ...]) -> None:
    buffer = Emitter(TRN1).sbuf(2, 4000, DType.F32)
    view = View(buffer, 0, 2, free, offset=50)
    for limit in (1, 2, 5, 100):
        parts = list(_parts(view, limit))
        assert all(prod(n for _, n in part.free) <= limit for part in parts)
        assert [n for part in parts for n in elements(part)] == elements(view)


def test_a_large_memset() -> None:
    emitter = Emitter(TRN1)
    size = 5 * TRN1.max_free_sbuf // 2
    emitter.memset(View(emitter.sbuf(128, size, DType.BF16), 0, 128, ((1, size),)), 0.0)
    assert len([op for op in emitter.ops if op.name == "nc.memset"]) == 3
