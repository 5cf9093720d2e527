"""A target of another package compiles and runs like ours."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuronir.cli import neuron_sim
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions, compile_file, compile_text
from neuronir.driver.pass_runner import RunFailure
from neuronir.passes.pipelines import PIPELINES
from neuronir.targets import registry
from neuronir.targets.encoding.encoding import Encoding
from neuronir.targets.neff.reader import read_neff
from neuronir.targets.simulator.functional import run
from neuronir.targets.target import Target
from neuronir.targets.trn1 import TARGET as TRN1
from tests.driver.models import DENSE, dense_arguments, dense_result, write_model
from tests.oracle import run_xla


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Target:
    """Trn1 with a slower tensor engine, without control flow, with a pipeline of its own."""
    target = Target(
        name="slow1",
        machine=replace(TRN1.machine, name="slow1", pe_ghz=0.1),
        description="a test",
        pipelines={"hlo": f"{PIPELINES['hlo-simplify']},hlo-auto-cast"},
        encoding=Encoding("slow1", control_flow=False),
    )
    monkeypatch.setattr(registry, "_extra", {})
    registry.register_target(target)
    return target


def test_other_target(slow: Target, tmp_path: Path) -> None:
    model, inputs, reference = write_model(tmp_path)
    path = str(tmp_path / "x.neff")
    result = compile_file(model, "slow1", CompileOptions(auto_cast="none"))
    result.write(path)
    program = read_neff(path)
    assert program.machine == "slow1" and program.metadata["precision"] == "none"
    (output,) = run(program, dense_arguments(), slow.machine).outputs
    assert np.abs(output - dense_result()).max() < 1e-5
    assert neuron_sim.main(["run", path, "--inputs", inputs, "--expect", reference]) == 0


def test_other_target_is_a_device_of_onnx(slow: Target) -> None:
    backend = pytest.importorskip("neuronir.backend")
    onnx = pytest.importorskip("onnx")
    text = '<ir_version: 10, opset_import: ["" : 20]> g (float[3] x) => (float[3] y) { y = Neg(x) }'
    model, x = onnx.parser.parse_model(text), np.arange(3, dtype=np.float32)
    assert np.array_equal(backend.prepare(model, "SLOW1:0").run([x])[0], -x)
    assert backend.supports_device("TRN1") and not backend.supports_device("slow1")
    with pytest.raises(NeuronError, match="NIR_API003.*'SLOW2'"):
        backend.prepare(model, "SLOW2")


def test_the_machine_bears_the_name_of_its_target(slow: Target) -> None:
    registry.register_target(replace(slow, name="slow2"))
    with pytest.raises(NeuronError, match="must have the name of the target"):
        compile_text(DENSE, "slow2")


@pytest.fixture
def numbers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Target]:
    """Makes targets that are trn1 with other numbers, and nothing else."""
    monkeypatch.setattr(registry, "_extra", {})

    def make(name: str, **changes: Any) -> Target:
        machine = replace(TRN1.machine, name=name, **changes)
        registry._extra.pop(name, None)
        registry.register_target(target := Target(name, machine, "a test"))
        return target

    return make


def test_a_target_of_other_numbers_needs_no_more(numbers: Callable[..., Target]) -> None:
    """The pipelines, legality and encoding that it has follow from its machine."""
    target = numbers("half1", pe_ghz=TRN1.machine.pe_ghz / 2)
    table = registry.legality_for(target)
    assert table == replace(registry.legality_for(TRN1), target="half1")
    program = compile_text(DENSE, "half1").program
    assert program is not None and program.machine == "half1"
    (output,) = run(program, dense_arguments(), target.machine).outputs
    assert np.abs(output - dense_result()).max() < 0.1
    with pytest.raises(RunFailure, match="data type f64 is not supported"):
        compile_text(DENSE.replace("f32", "f64"), "half1", CompileOptions(compile_to="hlo"))


ONE = """HloModule m
ENTRY e {
  x = f32[64,128] parameter(0)
  w = f32[128,128] parameter(1)
  zero = f32[] constant(0)
  p = pred[64,128] compare(x, x), direction=GT
  ROOT y = f32[%s] %s
}
"""


@pytest.mark.parametrize(
    "missing, shape, op, legal",
    [
        ("ACT", "64,128", "tanh(x)", False),
        ("ACT", "64,128", "dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}", False),
        ("ACT", "64,256", "concatenate(x, x), dimensions={1}", True),
        ("ACT", "66,130", "pad(x, zero), padding=1_1x1_1", True),
        ("ACT", "64,128", "select(p, x, x)", True),
        ("ACT", "64,128", "sign(x)", True),
        ("PE", "64,128", "dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}", False),
        ("PE", "64,128", "tanh(x)", True),
    ],
)
def test_machine_without_an_engine(
    missing: str, shape: str, op: str, legal: bool, numbers: Callable[..., Target]
) -> None:
    """What only this engine computes is refused; nothing else uses it."""
    numbers("less1", engines=TRN1.machine.engines - {missing})
    text = ONE % (shape, op)
    if not legal:
        with pytest.raises(RunFailure, match="NCC_EVRF001"):
            compile_text(text, "less1")
        return
    program = compile_text(text, "less1", CompileOptions(auto_cast="none")).program
    assert program is not None
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s, np.float32) for s in ((64, 128), (128, 128))]
    used = [arrays[v.index] for v in program.variables if v.kind == "input"]
    (output,) = run(program, used, registry.get_target("less1").machine).outputs
    (expected,) = run_xla(text, arrays)
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_what_is_remembered_depends_on_numbers_and_not_on_names(
    numbers: Callable[..., Target],
) -> None:
    """The same numbers by another name give the same program, other numbers by the same name
    what they give by a new one: also where a search has seen the name before."""
    product = """HloModule m
ENTRY e {
  x = bf16[2048,2048] parameter(0)
  w = bf16[2048,2048] parameter(1)
  ROOT y = bf16[2048,2048] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""

    def streams(name: str) -> object:
        program = compile_text(product, name, CompileOptions(tiling="never")).program
        assert program is not None
        return program.streams

    small = {"sbuf_usable_partition_bytes": 32 * 1024}
    numbers("same1")
    first = streams("trn1")
    assert streams("same1") == first
    numbers("same1", **small)
    numbers("other1", **small)
    assert streams("same1") == streams("other1") != first
