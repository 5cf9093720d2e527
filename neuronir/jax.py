"""JAX functions on simulated NeuronCores. It needs the package `jax`.

import neuronir.jax

@neuronir.jax.jit
def layer(x, w):
    return jax.nn.gelu(x @ w)

layer(x, w)              # compiled for these shapes and types, and run
layer.report(x, w)       # what a run takes
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from neuronir.api import Executable, compile
from neuronir.frontends.jax_functions import lowered_text, required_jax

Array = NDArray[Any]


class Jitted:
    """A function that is compiled when it is called with arguments of new shapes or types.

    The results have the function's structure, as numpy arrays. Raises a NeuronError that says what
    cannot be compiled.
    """

    __name__: str  # the function's, by update_wrapper

    def __init__(self, function: Callable[..., Any], target: str, options: dict[str, Any]) -> None:
        self._function = function
        self._target = target
        self._options = options
        self._made: dict[Any, tuple[Executable, Any]] = {}
        update_wrapper(self, function)

    def _compiled(self, args: Any, kwargs: Any) -> tuple[Executable, Any, list[Array]]:
        """(the executable, the structure of the results, the arguments as arrays)."""
        jax = required_jax()
        leaves, structure = jax.tree_util.tree_flatten((args, kwargs))
        # Numbers get the types that JAX gives them.
        arrays = [np.asarray(jax.numpy.asarray(leaf)) for leaf in leaves]
        key = (structure, tuple((a.shape, a.dtype) for a in arrays))
        if key not in self._made:
            shapes = jax.eval_shape(self._function, *args, **kwargs)
            text = lowered_text(self._function, args, kwargs)
            made = compile(text, self._target, **self._options)
            self._made[key] = made, jax.tree_util.tree_structure(shapes)
        return *self._made[key], arrays

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the simulated core."""
        executable, structure, arrays = self._compiled(args, kwargs)
        results = executable(*arrays)
        return required_jax().tree_util.tree_unflatten(structure, list(results.values()))

    def report(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the timing report of a run with these arguments."""
        return self._compiled(args, kwargs)[0].report()


@overload
def jit(function: Callable[..., Any], *, target: str = "trn1", **options: Any) -> Jitted: ...


@overload
def jit(*, target: str = "trn1", **options: Any) -> Callable[[Callable[..., Any]], Jitted]: ...


def jit(
    function: Callable[..., Any] | None = None, *, target: str = "trn1", **options: Any
) -> Jitted | Callable[[Callable[..., Any]], Jitted]:
    """Return a function that runs on a simulated core, like jax.jit. It can be used as a decorator,
    with the options of `neuronir.compile` (`auto_cast`, `optlevel` ...).
    """
    if function is None:
        return lambda f: Jitted(f, target, options)
    return Jitted(function, target, options)
