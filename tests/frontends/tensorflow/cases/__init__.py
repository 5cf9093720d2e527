"""Single operators of TensorFlow, as graphs with inputs: built by TensorFlow itself."""

from importlib import import_module

from tests.frontends.tensorflow.cases.case import Case

FAMILIES = (
    "elementwise",
    "arrays",
    "slices",
    "indexing",
    "reductions",
    "linear",
    "windows",
    "normalization",
    "images",
    "control_flow",
)


def all_cases() -> list[Case]:
    """Every case, in a fixed order. It imports TensorFlow."""
    found: list[Case] = []
    for family in FAMILIES:
        found += import_module(f"{__name__}.{family}").CASES
    names = [case.name for case in found]
    assert len(set(names)) == len(names), sorted({n for n in names if names.count(n) > 1})
    return found


__all__ = ["Case", "all_cases"]
