"""Lower JAX functions to StableHLO text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from neuronir.dialects.support.errors import NeuronError


def lowered_text(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> str:
    """Return the StableHLO text of a function for example arguments (arrays, or nested ones).

    JAX lowers the function, as for the CPU: for other devices it calls their libraries. Unused
    arguments stay parameters. Raises NIR_JAX001 if jax is not installed.
    """
    traced = required_jax().jit(function, keep_unused=True).trace(*args, **dict(kwargs or {}))
    return text_of(traced.lower(lowering_platforms=("cpu",)))


def text_of(model: Any) -> str:
    """Return the StableHLO text of what `jax.jit(f).lower(...)` or `jax.export` returns, with names
    and source lines."""
    return str(model.mlir_module() if is_exported(model) else model.as_text(debug_info=True))


def is_lowered(model: Any) -> bool:
    """Return whether a model is what `jax.jit(f).lower(...)` returns; jax need not be installed."""
    return hasattr(model, "compiler_ir") and hasattr(model, "as_text")


def is_exported(model: Any) -> bool:
    """Return whether a model is what `jax.export.export(f)(...)` returns."""
    return callable(getattr(model, "mlir_module", None))


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
