"""The opcodes that the corpus lacks: import, verify, print, import again; XLA takes the text."""

from pathlib import Path

import pytest

from neuronir.dialects.hlo import HLO
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.frontends.hlo_text.opcodes import OPCODE_OF
from neuronir.frontends.hlo_text.printer import print_hlo_text
from tests.oracle import reprint

HEAD = """\
HloModule m

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}

neg {
  x = f32[] parameter(0)
  ROOT s = f32[] negate(x)
}

ge {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = pred[] compare(x, y), direction=GE
}

ENTRY e {
  a = f32[4,6]{1,0} parameter(0)
  z = f32[] constant(0)
  i = s32[] constant(1)
  k = token[] after-all()
  v = f32[6]{0} broadcast(z), dimensions={}
  b = f32[3,3]{1,0} slice(a), slice={[0:3], [0:3]}
"""

SECTIONS = (Path(__file__).parent / "opcodes.txt").read_text().split("# ")[1:]
BODIES = dict(section.split("\n", 1) for section in SECTIONS)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_opcode(body: str) -> None:
    """The text is XLA's, is kept through import and print, and printed text is XLA's again."""
    text = f"{HEAD}  {body}\n}}\n"
    reprint(text)
    module = import_hlo_text(text)
    module.verify()
    printed = print_hlo_text(module)
    assert module.is_structurally_equivalent(import_hlo_text(printed))
    reprint(printed)


def test_every_op_has_an_opcode() -> None:
    """Whatever the dialect has, but its own composite and return, comes from an opcode."""
    ours = {op.name for op in HLO.operations} - {"hlo.composite", "hlo.return"}
    assert ours == set(OPCODE_OF)
