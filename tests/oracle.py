"""XLA's CPU backend, through jax, as an oracle that runs HLO text; tests only.

jax is a test dependency: without it (or with another jaxlib, whose internals moved) the tests that
need the oracle are skipped.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

Array = NDArray[Any]


@cache
def _backend() -> tuple[Any, Any, Any]:
    """jax, jaxlib's HLO module bindings and its client library, with 64-bit types on."""
    jax = pytest.importorskip("jax", reason="jax is the oracle; install neuronir[test]")
    hlo = pytest.importorskip("jaxlib._hlo", reason="this jaxlib does not parse HLO text")
    library = pytest.importorskip("jax._src.lib")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    return jax, hlo, library.xla_client


@cache
def _load_lapack() -> None:
    """Bind the functions of LAPACK: a program that calls one earlier crashes the process."""
    lapack = pytest.importorskip("jaxlib.lapack", reason="this jaxlib has no LAPACK")
    lapack.prepare_lapack_call("potrf", np.dtype(np.float32))


@lru_cache(maxsize=64)
def _compiled(text: str, quick: bool = False) -> Any:
    jax, hlo, client = _backend()
    if '"lapack_' in text:
        _load_lapack()
    computation = hlo.XlaComputation(
        hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    )
    module = client._xla.mlir.xla_computation_to_mlir_module(computation)
    device = jax.devices("cpu")[0]
    devices = client.DeviceList((device,))
    options = client.CompileOptions()
    if quick:
        options.executable_build_options.debug_options.xla_backend_optimization_level = 0
    return device.client.compile_and_load(module, devices, options)


def hlo_text(function: Any, args: Sequence[Any]) -> str:
    """The HLO text that JAX lowers a function to; unused arguments stay parameters."""
    jax, _, _ = _backend()
    lowered = jax.jit(function, keep_unused=True).lower(*args)
    return str(lowered.compiler_ir(dialect="hlo").as_hlo_text(True))


def reprint(text: str) -> str:
    """HLO text as XLA parses and prints it, with large constants."""
    _, hlo, _ = _backend()
    options = hlo.HloPrintOptions()
    options.print_large_constants = True
    return str(hlo.hlo_module_from_text(text).to_string(options))


def run_xla(text: str, args: Sequence[Array], *, quick: bool = False) -> list[Array]:
    """The flat leaves of the root of an HLO program, computed by XLA on the CPU; `quick`: with
    little work for LLVM, for programs that run once."""
    jax, _, _ = _backend()
    executable = _compiled(text, quick)
    device = jax.devices("cpu")[0]
    buffers = [jax.device_put(np.asarray(arg), device) for arg in args]
    outputs = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
    return [np.asarray(parts[0]) for parts in outputs]


def random_array(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> Array:
    """Values that exercise a type: normal floats, integers over the whole range of 8 bits."""
    kind = np.dtype(dtype)
    size = tuple(shape)
    if kind == np.bool_:
        return rng.integers(0, 2, size).astype(bool)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return rng.integers(
            max(limits.min, -128), min(limits.max, 127), size, endpoint=True
        ).astype(kind)
    if kind.kind == "c":
        return (rng.standard_normal(size) + 1j * rng.standard_normal(size)).astype(kind)
    return rng.standard_normal(size).astype(kind)


BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
