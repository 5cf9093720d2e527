"""Random numbers of JAX on trn1, with both of its generators."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.driver.compiler import compile_file, compile_text
from neuronir.driver.options import CompileOptions
from neuronir.driver.pass_runner import RunFailure
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run

jax = pytest.importorskip("jax")
jnp, draw = jax.numpy, jax.random
Array = NDArray[Any]

INTEGERS: dict[str, Callable[[Any], Any]] = {
    "bits": lambda k: draw.bits(k, (33,)),
    "bytes": lambda k: draw.bits(k, (32,), dtype=jnp.uint8),
    "split": lambda k: draw.key_data(draw.split(k, 3)),
    "fold_in": lambda k: draw.key_data(draw.fold_in(k, 7)),
    "randint": lambda k: draw.randint(k, (64,), 0, 10, dtype=jnp.int32),
    "randint_wide": lambda k: draw.randint(k, (64,), -(2**31), 2**31 - 1, dtype=jnp.int32),
    "bernoulli": lambda k: draw.bernoulli(k, jnp.float32(0.3), (128, 8)),
    "categorical": lambda k: draw.categorical(
        k, jnp.log(jnp.arange(1, 9, dtype=jnp.float32)), shape=(20,)
    ),
    "permutation": lambda k: draw.permutation(k, jnp.arange(50, dtype=jnp.int32)),
    "choice": lambda k: draw.choice(k, jnp.arange(20, dtype=jnp.int32), (8,), replace=False),
}
FLOATS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "uniform": (lambda k: draw.uniform(k, (40, 24), jnp.float32), 0),
    "uniform_bf16": (lambda k: draw.uniform(k, (16, 8), jnp.bfloat16), 0),
    "uniform_between": (
        lambda k: draw.uniform(k, (17,), jnp.float32, jnp.float32(-2), jnp.float32(3)),
        2,
    ),
    "normal": (lambda k: draw.normal(k, (16, 8), jnp.float32), 24),
    "gumbel": (lambda k: draw.gumbel(k, (20,), jnp.float32), 24),
    "truncated": (
        lambda k: draw.truncated_normal(k, jnp.float32(-2), jnp.float32(2), (30,), jnp.float32),
        24,
    ),
    "exponential": (lambda k: draw.exponential(k, (30,), jnp.float32), 24),
}
"""Programs, and how many roundings of a result's largest value the functions after the bits may
take: erf_inv is a polynomial of 9 terms, logarithms take two."""
KEYS = {"threefry2x32": 2, "rbg": 4}


def drawn(
    function: Callable[[Any], Any], generator: str, target: str = "trn1", tiling: str = "never"
) -> tuple[Array, Array]:
    """XLA's result and that of the binary."""
    key = np.random.default_rng(3).integers(0, 2**32, KEYS[generator], dtype=np.uint32)
    with jax.enable_x64(False):

        def program(k: Any) -> Any:
            return function(draw.wrap_key_data(k, impl=generator))

        lowered = jax.jit(program).lower(key)
        wanted = np.asarray(jax.jit(program)(key))
    text = lowered.compiler_ir("hlo").as_hlo_text(True)
    result = compile_text(text, target, CompileOptions(auto_cast="none", tiling=tiling))
    assert result.program is not None
    options = Options(races=True)
    outputs = run(result.program, [key], get_target(target).machine, options).outputs
    return wanted, np.asarray(outputs[0])


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.thin(2)
def test_integers_of_threefry(name: str) -> None:
    wanted, found = drawn(INTEGERS[name], "threefry2x32")
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["bits", "split", "bernoulli"])
def test_integers_of_rbg(name: str) -> None:
    wanted, found = drawn(INTEGERS[name], "rbg")
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("generator", ["threefry2x32", pytest.param("rbg", marks=pytest.mark.slow)])
def test_integers_on_inf1(generator: str) -> None:
    """Its engines compute in fp32: words are added and multiplied in parts."""
    wanted, found = drawn(INTEGERS["bits"], generator, "inf1")
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", FLOATS)
def test_floats_of_threefry(name: str) -> None:
    function, roundings = FLOATS[name]
    wanted, found = (a.astype(np.float64) for a in drawn(function, "threefry2x32"))
    assert np.abs(found - wanted).max() <= roundings * 2.0**-24 * np.abs(wanted).max()


REJECTION: dict[str, tuple[Callable[[Any], Any], int]] = {
    "gamma": (lambda k: draw.gamma(k, jnp.float32(2), (8,), jnp.float32), 24),
    "poisson": (lambda k: draw.poisson(k, jnp.float32(3), (8,), jnp.int32), 0),
}
"""Distributions by rejection sampling, in loops whose conditions depend on the draws."""


@pytest.mark.parametrize("name", [pytest.param("gamma", marks=pytest.mark.slow), "poisson"])
def test_rejection_sampling(name: str) -> None:
    function, roundings = REJECTION[name]
    made = drawn(function, "threefry2x32", tiling="auto")
    wanted, found = (a.astype(np.float64) for a in made)
    assert np.abs(found - wanted).max() <= roundings * 2.0**-24 * np.abs(wanted).max()


def test_rejection_sampling_is_refused_without_control_flow() -> None:
    with pytest.raises(RunFailure, match="trip count depends on data"):
        drawn(REJECTION["gamma"][0], "threefry2x32", "inf1")


@pytest.mark.parametrize("kind", ["stablehlo", "hlo_proto"])
def test_other_forms_of_the_program(kind: str, tmp_path: Path) -> None:
    """Bits of an rbg key, from StableHLO text and from an HloModuleProto."""
    key = np.arange(4, dtype=np.uint32)
    with jax.enable_x64(False):
        function = jax.jit(lambda k: draw.bits(draw.wrap_key_data(k, impl="rbg"), (5, 4)))
        lowered, wanted = function.lower(key), np.asarray(function(key))
    if kind == "stablehlo":
        path = tmp_path / "bits.mlir"
        path.write_text(lowered.as_text())
    else:
        path = tmp_path / "bits.pb"
        path.write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
    options = CompileOptions(tiling="never", framework="XLA")
    program = compile_file(str(path), "trn1", options).program
    assert program is not None
    found = run(program, [key], get_target("trn1").machine, Options(races=True)).outputs
    np.testing.assert_array_equal(found[0], wanted)
