"""Divisions of unsigned integers, against XLA's CPU backend."""

from itertools import product

import numpy as np
import pytest

from tests.differential.test_found import check, entry

_EDGES = (
    0,
    1,
    2,
    3,
    7,
    2**16 - 1,
    2**16,
    2**24 + 1,
    2**31 - 1,
    2**31,
    2**31 + 1,
    2**32 - 2,
    2**32 - 1,
)


@pytest.mark.parametrize("target", ["inf1", "trn1"])
@pytest.mark.parametrize("opcode", ["divide", "remainder"])
def test_divisions_of_u32(opcode: str, target: str) -> None:
    """On inf1, which computes integers in fp32, from a division of half the numerator in s32."""
    rng = np.random.default_rng(3)
    pairs = list(product(_EDGES, repeat=2))
    for bits in (8, 16, 24, 31, 32):
        for n, d in rng.integers(0, 2**32, (400, 2), dtype=np.uint64).tolist():
            pairs += [(n, d >> (32 - bits)), (n >> (32 - bits), d >> rng.integers(0, 32))]
    near = [
        (q * d + r, d)
        for d in (3, 65537, 2**20 + 7, 2**31 - 1)
        for q in (1, 2, 65535)
        for r in (-1, 0, 1)
    ]
    pairs += [(n, d) for n, d in near if 0 <= n < 2**32]
    a, b = np.array(pairs, np.uint64).astype(np.uint32).T.copy()
    shape = f"u32[{len(pairs)}]"
    text = entry(
        f"  a = {shape} parameter(0)\n  b = {shape} parameter(1)\n  ROOT c = {shape} {opcode}(a, b)"
    )
    check(text, [a, b], target=target)
