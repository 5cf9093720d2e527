"""JAX functions as HLO text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from neuronir.dialects.support.errors import NeuronError


def hlo_text(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> str:
    """The HLO text of a function for example arguments (arrays, or nested ones), as JAX lowers it;
    arguments that nothing reads stay parameters. NIR_JAX001 where jax is not installed."""
    lowered = required_jax().jit(function, keep_unused=True).lower(*args, **dict(kwargs or {}))
    # Large constants are left out by default.
    return str(lowered.compiler_ir(dialect="hlo").as_hlo_text(True))


def required_jax() -> Any:
    """The package jax; NIR_JAX001 where it is not installed."""
    try:
        import jax
    except ImportError as error:
        raise NeuronError(
            "NIR_JAX001",
            "functions are lowered by the package 'jax', which is not installed",
            help="pip install jax",
        ) from error
    return jax
