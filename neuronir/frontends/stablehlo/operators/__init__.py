"""Functions that import StableHLO and CHLO ops, by name and family."""

from neuronir.frontends.stablehlo.operators import (  # noqa: F401
    collective,
    constants,
    control_flow,
    elementwise,
    functions,
    linear,
    movement,
    other,
    reduction,
    sharding,
)
from neuronir.frontends.stablehlo.operators.registry import OPERATORS, check_name

__all__ = ["OPERATORS", "check_name"]
