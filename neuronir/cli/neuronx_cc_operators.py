"""The operators that `neuronx-cc list-operators` names: those that the hlo dialect registers."""

from neuronir.dialects.hlo import HLO

_NOT_OPERATORS = frozenset(("composite", "return"))


def operator_names() -> list[str]:
    """XlaBuilder-like names (`DotGeneral` is `Dot`), sorted."""
    names = {op.name.removeprefix("hlo.") for op in HLO.operations}
    return sorted("".join(map(str.capitalize, n.split("_"))) for n in names - _NOT_OPERATORS)
