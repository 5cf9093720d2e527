"""A comparison, or what it is not, is stored or converted, on the chip and in tiles."""

import pytest

from tests.differential.stages import failures
from tests.tile.test_found import arguments

TEXT = """HloModule m

ENTRY e {
  x = f32[600,2048] parameter(0)
  k = f32[] constant(0.5)
  z = f32[600,2048] broadcast(k), dimensions={}
  c = pred[600,2048] compare(x, z), direction=GT
  ROOT r = pred[600,2048] not(c)
}
"""


@pytest.mark.parametrize("rows", [600, 4096])
@pytest.mark.parametrize("kind", ["pred", "f32"])
@pytest.mark.parametrize("negated", [False, True])
def test_comparisons_of_many_rows(rows: int, kind: str, negated: bool) -> None:
    text = TEXT.replace("600", str(rows))
    if not negated:
        text = text.replace("not(c)", "copy(c)")
    if kind != "pred":
        text = text.replace("ROOT r", "n").replace(
            "(c)\n", f"(c)\n  ROOT r = {kind}[{rows},2048] convert(n)\n"
        )
    assert not failures(text, arguments(text), "none", None, ("tiled", "virtual"))
