"""Products of operands that repeat along one of two neighbouring free dimensions."""

import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import entry


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(("outer", "inner"), [(8, 129), (7, 100), (6, 43)])
@pytest.mark.parametrize("kept", [(0, 1), (1,), (0, 2)])
def test_tiles_end_where_an_operand_varies(
    kept: tuple[int, ...], outer: int, inner: int, first: bool
) -> None:
    """What reads the product wants tiles that divide both dimensions, not the inner one."""
    full = (5, outer, inner)
    small = tuple(full[d] for d in kept)
    result = (outer, inner, 4) if first else (4, outer, inner)
    cut = (outer, inner, 1) if first else (1, outer, inner)
    text = entry(
        f"s = f32[{','.join(map(str, small))}] parameter(0)",
        f"v = f32[5,{outer},{inner}] broadcast(s), dimensions={{{','.join(map(str, kept))}}}",
        "w = f32[5,4] parameter(1)",
        f"d = f32[{','.join(map(str, result))}] dot({'v, w' if first else 'w, v'}), "
        "lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        f"r = f32[{','.join(map(str, cut))}] slice(d), "
        f"slice={{{','.join(f'[0:{n}]' for n in cut)}}}",
    )
    rng = np.random.default_rng(3)
    args = [rng.standard_normal(n).astype(np.float32) for n in (small, (5, 4))]
    assert not failures(text, args, "none")
