"""Rows D10, D13, D22 and D25 to D27 of docs/features.md on inf1: formats, detection, recurrences,
compile time, versions and large inputs. Each test bears the number of its row.
"""

import cProfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from neuronir.cli import neuron_sim
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import compile_file, compile_text
from neuronir.driver.pass_runner import RunFailure
from neuronir.targets.neff import header
from neuronir.targets.neff.reader import load_neff
from neuronir.targets.neff.writer import write_neff
from neuronir.targets.simulator.attribution import bytes_by_kind, usage_of
from neuronir.targets.simulator.functional import run
from neuronir.targets.simulator.timing import simulate_timing
from tests.acceptance.test_inf1_claims import MACHINE, MATMULT, compiled, instructions
from tests.acceptance.test_inf1_rows import agrees, conv, jax, jnp, lax, lstm, normal
from tests.frontends.onnx_cases import outcome
from tests.frontends.test_onnx_cases import EVERY, kept
from tests.oracle import hlo_text
from tests.processor import within

ROOT = Path(__file__).resolve().parents[2]


def _onnx_model(path: Path, nodes: list[Any], x: Any, shape: list[int], **weights: Any) -> str:
    """Write a model of one input `x` and one output `y`."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return str(path)


def test_d10_an_onnx_model_costs_no_more_than_the_native_one(tmp_path: Path) -> None:
    """AWS advises the native model. Here the same network gives the same program."""
    x, k, b = normal(2, 3, 8, 8), normal(8, 3, 3, 3, scale=0.2), normal(8)
    w = normal(128, 10, scale=0.1)
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "k", "b"], ["c"], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"]),
        node("MatMul", ["f", "w"], ["l"]),
        node("Softmax", ["l"], ["y"], axis=1),
    ]
    path = _onnx_model(tmp_path / "model.onnx", nodes, x, [2, 10], k=k, b=b, w=w)

    def native(x: Any) -> Any:
        y = jax.nn.relu(lax.conv_general_dilated(x, k, (1, 1), "SAME") + b[:, None, None])
        y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        return jax.nn.softmax(y.reshape(2, -1) @ w)

    program = compile_file(path, "inf1", MATMULT).program
    assert program is not None
    wanted = agrees(native, x)
    assert np.array_equal(run(program, [x], MACHINE).outputs[0], wanted[0])
    times = [simulate_timing(p, MACHINE).total_ns for p in (program, compiled(native, x))]
    assert times[0] <= times[1]


@pytest.mark.slow
def test_d10_onnx_operators() -> None:
    """The backend's cases are right or refused, with the rounding of products to bf16."""
    found = {c.name: outcome(replace(c, rtol=0.02, atol=0.02), "INF1") for c in kept()[::EVERY]}
    assert not {name: what for name, what in found.items() if what.startswith("wrong")}
    assert sum(what == "right" for what in found.values()) > 0.9 * len(found)


def test_d13_boxes_of_a_detector() -> None:
    """As in SSD: decode boxes, keep the best, and drop those that overlap a better one."""

    def detect(scores: Any, offsets: Any, priors: Any) -> Any:
        middle = priors[:, :2] + offsets[:, :2] * priors[:, 2:] * 0.1
        size = priors[:, 2:] * jnp.exp(offsets[:, 2:] * 0.2)
        best, which = lax.top_k(scores, 4)
        low, high = (middle - size / 2)[which], (middle + size / 2)[which]
        corners = jnp.minimum(high[:, None], high) - jnp.maximum(low[:, None], low)
        common, area = jnp.maximum(corners, 0).prod(-1), (high - low).prod(-1)
        overlaps = common > 0.3 * (area[:, None] + area - common)
        keep = jnp.ones(4, bool)
        for i in range(3):
            keep &= ~(overlaps[i] & (jnp.arange(4) > i) & keep[i])
        return jnp.concatenate([low, high], -1), jnp.where(keep, best, 0.0)

    rng = np.random.default_rng(0)
    scores = rng.permutation(16).astype(np.float32) / 16
    priors = rng.uniform(0.2, 0.6, (16, 4)).astype(np.float32)
    _, kept = agrees(detect, scores, normal(16, 4), priors, bound=1e-4)
    assert 0 < np.count_nonzero(kept) < 4


def test_d13_regions_whose_number_depends_on_data_are_refused(tmp_path: Path) -> None:
    """The proposals of an R-CNN."""
    boxes, limit = normal(1, 8, 4), np.array([4], np.int64)
    nodes = [
        helper.make_node("Sigmoid", ["scores"], ["s"]),
        helper.make_node("NonMaxSuppression", ["x", "s", "limit"], ["found"]),
        helper.make_node("Cast", ["found"], ["y"], to=TensorProto.FLOAT),
    ]
    path = _onnx_model(
        tmp_path / "rcnn.onnx", nodes, boxes, [4, 3], scores=normal(1, 1, 8), limit=limit
    )
    with pytest.raises((NeuronError, RunFailure), match="NonMaxSuppression.*depends on data"):
        compile_file(path, "inf1", MATMULT)


def test_d22_steps_of_a_recurrence() -> None:
    """Products of inputs are computed for all steps at once, and weights are loaded once."""
    weights = normal(64, 256, scale=0.1), normal(64, 256, scale=0.1, seed=1)

    def timed(steps: int) -> tuple[float, int]:
        xs = normal(steps, 4, 64)
        program = compiled(lambda x, w, u: lstm(x, w, u, 64), xs, *weights)
        timing = simulate_timing(program, MACHINE)
        moved = bytes_by_kind(timing.code, usage_of(timing.code))
        assert set(moved) == {"input", "output"}
        assert moved["input"].read == sum(a.nbytes for a in (xs, *weights))
        return timing.total_ns, sum(i.opcode == "matmul" for i in instructions(program))

    (one, _), (some, before), (more, after) = (timed(steps) for steps in (1, 16, 24))
    # Of each step four products are left, of the state with 64 columns of weights each.
    assert after - before == 4 * 8
    assert (more - some) / 8 < one / 6


def _layers(count: int) -> str:
    def layers(x: Any, *weights: Any) -> Any:
        for w in weights:
            x = jnp.tanh(x @ w) + x
        return x

    return hlo_text(layers, [normal(32, 64), *(normal(64, 64) for _ in range(count))])


def _convolutions(count: int) -> str:
    def layers(x: Any, *weights: Any) -> Any:
        for w in weights:
            x = jax.nn.relu(conv(x, w)) + x
        return x

    return hlo_text(layers, [normal(1, 8, 8, 16), *(normal(3, 3, 16, 16) for _ in range(count))])


def _name(code: CodeType | str) -> str:
    """A name of a function that is the same in each profile, and no other's."""
    if isinstance(code, str):
        return code
    return f"{code.co_filename}:{code.co_firstlineno}:{code.co_qualname}"


def _grown(costs: dict[int, int]) -> float:
    """By how much more than in proportion the second part of the layers costs."""
    few, some, many = costs
    return (costs[many] - costs[some]) / (costs[some] - costs[few]) / ((many - some) / (some - few))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layers", "counts"), [(_layers, (8, 16, 48)), (_convolutions, (4, 8, 24))]
)
def test_d25_work_grows_in_proportion_to_the_model(
    layers: Callable[[int], str], counts: tuple[int, int, int]
) -> None:
    """The calls of functions do not depend on the load of the machine: a walk over the whole
    program for each of its ops shows, in all calls and in those of one function.
    """
    compile_text(layers(2), "inf1", MATMULT)
    total, each = {}, {}
    for count in counts:
        text, profile = layers(count), cProfile.Profile()
        profile.runcall(compile_text, text, "inf1", MATMULT)
        each[count] = {_name(entry.code): entry.callcount for entry in profile.getstats()}
        total[count] = sum(each[count].values())
    assert _grown(total) < 1.15
    few, some, many = (each[count] for count in counts)
    steps = (counts[2] - counts[1]) / (counts[1] - counts[0])
    more = {
        k: n - some.get(k, 0) - steps * (some.get(k, 0) - few.get(k, 0)) for k, n in many.items()
    }
    assert not {k: over for k, over in more.items() if over > 0.02 * total[counts[2]]}


@pytest.mark.slow
def test_d25_memory_grows_in_proportion_to_the_model() -> None:
    compile_text(_layers(2), "inf1", MATMULT)
    peaks = {}
    for count in (24, 72):
        text = _layers(count)
        tracemalloc.start()
        try:
            compile_text(text, "inf1", MATMULT)
            peaks[count] = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peaks[72] < 3.3 * peaks[24]


def test_d25_compile_time_grows_with_the_model() -> None:
    """In proportion: four times the layers take less than six times as long.

    The faster of two compiles counts: a loaded machine must not fail a test.
    """
    compile_text(_layers(2), "inf1", MATMULT)
    few, many = (_least_seconds(_layers(count)) for count in (12, 48))
    assert many < 6 * few


def _least_seconds(text: str) -> float:
    taken = []
    for _ in range(2):
        start = time.process_time()
        compile_text(text, "inf1", MATMULT)
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.slow
def test_d25_bert_base_compiles_in_minutes() -> None:
    """The published figure for large models is 40 minutes; ours is 40 s."""
    path = ROOT / "tests" / "corpus" / "hlo" / "core" / "hf_bert_base.hlo"
    start = time.process_time()
    compile_file(str(path), "inf1", MATMULT)
    assert within(time.process_time() - start, 240)


def test_d26_old_readers_refuse_new_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.neff"
    write_neff(compiled(jnp.tanh, normal(4, 8)), path, "1.2.3")
    assert load_neff(path).header.version == (1, 0)
    monkeypatch.setattr(header, "VERSION_MAJOR", 0)
    monkeypatch.setattr(header, "VERSION_MINOR", 9)
    with pytest.raises(NeuronError, match="container version is 1.0, made by 'NeuronIR 1.2.3'"):
        load_neff(path)
    assert neuron_sim.main(["run", str(path), "--timing-only"]) == 1
    assert "reads up to 0.9" in capsys.readouterr().err


def test_d27_inputs_of_1024_by_1024() -> None:
    agrees(lambda x, w: jnp.tanh(x) @ w, normal(1024, 1024), normal(1024, 16, scale=0.05))


def test_d27_a_smaller_batch_is_advised() -> None:
    image = "f32[256,1024,1024,3]"
    text = f"HloModule m\nENTRY e {{\n x = {image} parameter(0)\n ROOT y = {image} tanh(x)\n}}\n"
    with pytest.raises(RunFailure) as caught:
        compile_text(text, "inf1", MATMULT)
    told = caught.value.diagnostic
    assert "the variables take 6442450944 bytes, inf1 has 2147483648" in told.text
    assert told.help is not None and told.help.startswith("use a smaller batch")


@pytest.mark.slow
def test_d27_images_of_1024_by_1024() -> None:
    def stem(x: Any, w: Any, v: Any) -> Any:
        return jax.nn.relu(conv(jax.nn.relu(conv(x, w, stride=2)), v, stride=2))

    kernels = normal(3, 3, 3, 8, scale=0.2), normal(3, 3, 8, 8, scale=0.2)
    agrees(stem, normal(1, 1024, 1024, 3), *kernels)
