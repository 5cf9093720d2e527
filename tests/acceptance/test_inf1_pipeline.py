"""Rows D05 and D07 of docs/features.md: pipelines over many cores of inf1, BERT at batch 32."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType

from benchmarks.calibration import inf1
from neuronir.dialects.nc.machine import get_machine
from neuronir.driver import CompileOptions, compile_file
from neuronir.driver.judge import judge_compile
from neuronir.driver.pipelined import compile_pipelined
from neuronir.driver.specification import specify
from neuronir.driver.weights import entry_function
from neuronir.targets.simulator.pipelined import PipelineTiming, run_pipeline, time_pipeline
from tests.oracle import hlo_text

jax = pytest.importorskip("jax")
jnp = jax.numpy

MACHINE = get_machine("inf1")
Array = NDArray[Any]


def drawn(path: Path) -> list[Array]:
    """Arguments with words of both kinds, and weights that let no layer saturate."""
    module = compile_file(str(path), "inf1", CompileOptions(compile_to="parsed")).module
    rng = np.random.default_rng(7)
    out: list[Array] = []
    for argument in entry_function(module).body.block.args:
        assert isinstance(argument.type, TensorType)
        shape = argument.type.get_shape()
        if str(argument.type.element_type).startswith("i"):
            out.append(rng.integers(0, 2, shape).astype(np.int32))
        else:
            values = rng.standard_normal(shape) / np.sqrt(shape[0])
            out.append(values.astype(np.float32))
    return out


def pipeline(path: Path, cores: int, data: Collection[int] = ()) -> PipelineTiming:
    """Compile for some cores with the weights bound, and compare with the interpreter.

    `data` are the numbers of the arguments that are no weights; by default those of integers.
    """
    arguments = drawn(path)
    data = data or [i for i, a in enumerate(arguments) if a.dtype == np.int32]
    weights = {f"arg{i}": a for i, a in enumerate(arguments) if i not in data}
    options = replace(inf1.OPTIONS, weights=weights)
    made = compile_pipelined(str(path), "inf1", options, cores).pipeline
    used = [v.index for v in made.interface.variables if v.kind == "input"]
    outputs = run_pipeline(made, [arguments[i] for i in used], MACHINE).outputs
    verdict = judge_compile(
        specify(partial(compile_file, str(path), "inf1"), options), arguments, outputs
    )
    assert verdict.ok, verdict.render()
    return time_pipeline(made, MACHINE)


def encoder(x: Any, *weights: Any) -> Any:
    """Two layers of BERT, each with six weights, for sequences of 32 tokens."""

    def layer(x: Any, wq: Any, wk: Any, wv: Any, wo: Any, up: Any, down: Any) -> Any:
        def heads(y: Any) -> Any:
            return y.reshape(len(x), 32, 2, 32).transpose(0, 2, 1, 3)

        def norm(y: Any) -> Any:
            return (y - y.mean(-1, keepdims=True)) / jnp.sqrt(y.var(-1, keepdims=True) + 1e-12)

        q, k, v = heads(x @ wq), heads(x @ wk), heads(x @ wv)
        p = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / 32**0.5)
        y = norm(x + (p @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ wo)
        return norm(y + jax.nn.gelu(y @ up, approximate=False) @ down)

    return layer(layer(x, *weights[:6]), *weights[6:])


def test_d05_eleven_layers_on_eleven_cores(tmp_path: Path) -> None:
    """More than ten cores, on three chips: activations take less time than the work on them."""

    def layers(x: Any, *weights: Any) -> Any:
        for w in weights:
            x = jnp.tanh(x @ w)
        return x

    path = tmp_path / "layers.hlo"
    arguments = [np.zeros(shape, np.float32) for shape in ((32, 256), *[(256, 256)] * 11)]
    path.write_text(hlo_text(layers, arguments))
    time = pipeline(path, 11, [0])
    assert len(time.cores) == 11
    links = [core.link_ns for core in time.cores]
    assert links[0] == 0 and all(0 < link < time.period_ns / 2 for link in links[1:])
    assert time.period_ns < 1.1 * max(core.run_ns for core in time.cores)
    assert min(core.resident_bytes for core in time.cores) >= 256 * 256 * 2
    one = pipeline(path, 1, [0])
    assert time.period_ns < one.period_ns / 2


def test_d07_two_layers_at_batch_4(tmp_path: Path) -> None:
    path = tmp_path / "bert.hlo"
    shapes = 2 * ((64, 64), (64, 64), (64, 64), (64, 64), (64, 256), (256, 64))
    arguments = [np.zeros(shape, np.float32) for shape in ((4, 32, 64), *shapes)]
    path.write_text(hlo_text(encoder, arguments))
    time = pipeline(path, 4, [0])
    assert len(time.cores) >= 2
    busy = [core.run_ns for core in time.cores]
    assert max(busy) < 0.7 * sum(busy)


@pytest.mark.slow
def test_d07_bert_base_at_batch_32_on_16_cores(tmp_path: Path) -> None:
    """AWS's compiler crashed on it. The vocabulary is short: a lookup is a product with it."""
    path = Path(inf1.model_file(inf1.BERT, str(tmp_path), 32))
    time = pipeline(path, 16)
    assert len(time.cores) >= 12
    busy = [core.run_ns for core in time.cores]
    assert sum(busy) > 0.5 * len(busy) * max(busy)
