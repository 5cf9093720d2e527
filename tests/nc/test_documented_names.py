"""docs/nc-dialect.md names every value that a parameter may have."""

from pathlib import Path

from neuronir.dialects.nc.enums import Activation, AluOp

PAGE = Path(__file__).parents[2] / "docs" / "nc-dialect.md"


def test_every_operator_and_function_is_named() -> None:
    text = PAGE.read_text()
    names = [member.name.lower() for kind in (AluOp, Activation) for member in kind]
    assert [name for name in names if f"`{name}`" not in text] == []
