"""Every hlo, nc and tile op has a lit test of its syntax."""

import re
from pathlib import Path

import pytest
from xdsl.ir import Dialect

from neuronir.dialects.hlo import HLO
from neuronir.dialects.nc.dialect import NC
from neuronir.dialects.tile.ops import TILE

LIT = Path(__file__).parents[2] / "lit" / "dialects"


@pytest.mark.parametrize("dialect", [HLO, NC, TILE], ids=lambda dialect: dialect.name)
def test_every_op_is_printed_and_parsed_again(dialect: Dialect) -> None:
    checked = set()
    for path in (LIT / dialect.name).glob("*.mlir"):
        text = path.read_text()
        if "neuron-opt %s | neuron-opt | filecheck" in text:
            checked |= set(re.findall(rf"CHECK[A-Z-]*:.*?\b({dialect.name}\.\w+)", text))
    assert {op.name for op in dialect.operations} - checked == set()
