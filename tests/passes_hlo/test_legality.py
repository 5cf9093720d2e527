"""The tables of what targets compile, against the rules of the lowering."""

import pytest

from neuronir.passes.hlo.legality import CHECKS, INF1, TRN1, Legality
from neuronir.passes.lowering.function import RULES

NO_RULE = {"constant", "tuple", "get_tuple_element", "return"}
"""What holds a program together, and needs no instruction."""
REFUSED = {"while", "custom_call"}
"""What stays only where it cannot be compiled; its check says why."""


@pytest.mark.parametrize("table", [TRN1, INF1], ids=lambda table: table.target)
def test_legal_opcodes_have_a_rule(table: Legality) -> None:
    judged = table.opcodes - NO_RULE - REFUSED
    assert {name for name in judged if f"hlo.{name}" not in RULES} == set()
    assert REFUSED <= set(CHECKS)
