"""Lower JAX functions to HLO text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from neuronir.dialects.support.errors import NeuronError


def hlo_text(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> str:
    """Return the HLO text of a function for example arguments (arrays, or nested ones).

    JAX lowers the function. Unused arguments stay parameters. Raises NIR_JAX001 if jax is not
    installed.
    """
    lowered = required_jax().jit(function, keep_unused=True).lower(*args, **dict(kwargs or {}))
    # JAX elides large constants by default.
    return str(lowered.compiler_ir(dialect="hlo").as_hlo_text(True))


def required_jax() -> Any:
    """Import jax; raises NIR_JAX001 if it is not installed."""
    try:
        import jax
    except ImportError as error:
        raise NeuronError(
            "NIR_JAX001",
            "functions are lowered by the package 'jax', which is not installed",
            help="pip install jax",
        ) from error
    return jax
