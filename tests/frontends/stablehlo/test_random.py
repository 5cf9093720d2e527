"""Random JAX functions as StableHLO: the interpreter's results against those of JAX."""

import random
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.oracle import _backend

_backend()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from neuronir.dialects.hlo.interpreter import interpret  # noqa: E402
from neuronir.frontends.stablehlo import import_stablehlo  # noqa: E402
from tests.frontends.stablehlo.jax_ops import OPERATIONS, Operation  # noqa: E402

Array = Any
TYPES = (
    *("float32", "float32", "float64", "float16", "bfloat16", "int32", "int64", "int8", "int16"),
    *("uint8", "uint16", "uint32", "uint64", "bool", "complex64"),
)
ERROR = {"float64": 1e-8, "float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1, "complex64": 1e-3}
SHAPES = ((), (5,), (4, 6), (2, 3, 4), (1, 7))
LEAST = 110
COMPOSED = [o for o in OPERATIONS if o.name != "mulhi"]
"""XLA's CPU backend runs mulhi alone, but refuses it in a fusion."""
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""Options of XLA for programs that run once."""


def kind(dtype: Any) -> str:
    return "f" if dtype == ml_dtypes.bfloat16 else np.dtype(dtype).kind


def random_array(rng: np.random.Generator, shape: Any, name: str) -> Array:
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    if kind(dtype) in "iu":
        return rng.integers(0 if kind(dtype) == "u" else -9, 9, shape).astype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    # Multiples of 1/4 are exact in all types, and half of these are not halves.
    values = rng.integers(-12, 13, shape) / 4 + 0.0625
    return (values + 0.5j * values if kind(dtype) == "c" else values).astype(dtype)


def leaves(result: Any) -> list[Array]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def tame(x: Array) -> Array:
    """Keep floats within bounds, so that errors stay small."""
    if kind(x.dtype) == "f":
        return jnp.clip(jnp.where(jnp.isfinite(x), x, np.array(1, x.dtype)), -8, 8)
    return x


def steps(seed: int, count: int, errors: list[float]) -> Callable[..., list[Array]]:
    """A function of random operations; what it does depends on the seed, shapes and types.

    Tracing it fills `errors`: those of its results, which are at least those of the operands.
    """

    def function(*arguments: Array) -> list[Array]:
        rng = random.Random(seed)
        pool = [(x, True, error_of(x)) for x in arguments]
        results: list[Array] = []
        errors.clear()
        for _ in range(count):
            chosen = rng.choice(COMPOSED)
            fitting = [
                (x, exact, error)
                for x, exact, error in pool
                if kind(x.dtype) in chosen.kinds
                and x.ndim >= chosen.least_rank
                and x.size
                and (exact or not chosen.steps)
            ]
            if not fitting:
                continue
            first = rng.choice(fitting)
            x = first[0]
            others = [v for v in fitting if v[0].shape == x.shape and v[0].dtype == x.dtype]
            operands = [first, *(rng.choice(others) for _ in range(chosen.count - 1))]
            whole = all(kind(v.dtype) in "iub" and e for v, e, _ in operands)
            for y in leaves(chosen.apply(rng, *(v for v, _, _ in operands))):
                results.append(y)
                errors.append(max(error_of(y), *(error for _, _, error in operands)))
                if y.size < 2000:
                    pool.append((tame(y), whole and kind(y.dtype) in "iub", errors[-1]))
        return results or list(arguments)

    return function


def error_of(x: Array) -> float:
    return ERROR.get(str(x.dtype), 0.0)


def check(
    function: Callable[..., Any], arguments: list[Array], errors: list[float] | None = None
) -> None:
    jitted = jax.jit(function, keep_unused=True)
    lowered = jitted.lower(*arguments)
    module = import_stablehlo(lowered.as_text(debug_info=True), "f.mlir")
    module.verify()
    expected = jax.tree_util.tree_leaves(lowered.compile(QUICK)(*arguments))
    found = interpret(module, [np.asarray(a) for a in arguments])
    assert len(found) == len(expected)
    allowed = errors or [error_of(theirs) for theirs in expected]
    for ours, theirs, error in zip(found, expected, allowed, strict=True):
        theirs = np.asarray(theirs)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        if kind(theirs.dtype) in "iub":
            np.testing.assert_array_equal(ours, theirs)
            continue
        wide = np.complex128 if kind(theirs.dtype) == "c" else np.float64
        a, b = ours.astype(wide), theirs.astype(wide)
        finite = np.abs(b[np.isfinite(b)])
        scale = max(1.0, float(finite.max())) if finite.size else 1.0
        np.testing.assert_allclose(a, b, rtol=error, atol=error * scale)


def test_there_are_enough_operations() -> None:
    assert len(OPERATIONS) >= LEAST


@pytest.mark.parametrize("chosen", OPERATIONS, ids=lambda o: o.name)
@pytest.mark.thin(3)
def test_each_operation_of_all_types(chosen: Operation) -> None:
    rng = np.random.default_rng(3)
    names = [n for n in dict.fromkeys(TYPES) if kind(getattr(ml_dtypes, n, n)) in chosen.kinds]
    shape = next(s for s in ((4, 6), (2, 3, 4)) if len(s) >= chosen.least_rank)
    arguments = [random_array(rng, shape, name) for name in names for _ in range(chosen.count)]

    def function(*given: Array) -> list[Any]:
        draw = random.Random(1)
        groups = [given[i : i + chosen.count] for i in range(0, len(given), chosen.count)]
        return [chosen.apply(draw, *group) for group in groups]

    check(function, arguments)


@pytest.mark.parametrize(
    "seed", [*range(15), *(pytest.param(s, marks=pytest.mark.slow) for s in range(15, 250))]
)
def test_random_functions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arguments = []
    for _ in range(4):
        shape = SHAPES[rng.integers(len(SHAPES))]
        arguments.append(random_array(rng, shape, TYPES[rng.integers(len(TYPES))]))
    errors: list[float] = []
    check(steps(seed, 12, errors), arguments, errors)
