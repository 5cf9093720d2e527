"""The driver: phases, resuming, weights, determinism."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import PHASES, CompiledResult, CompileOptions, compile_file, compile_text
from neuronir.driver.pass_runner import RunFailure
from neuronir.targets.neff.reader import read_neff
from neuronir.targets.simulator.functional import run
from tests.driver.models import DENSE, dense_arguments, dense_result, write_model

EXACT = CompileOptions(auto_cast="none")


def program_of(result: CompiledResult) -> Program:
    assert result.program is not None
    return result.program


@pytest.mark.parametrize(
    ("target", "cast", "bound"),
    [("trn1", "none", 1e-5), ("trn1", "matmult", 2e-2), ("inf1", "matmult", 2e-2)],
)
def test_compiles_to_the_right_answer(target: str, cast: str, bound: float) -> None:
    result = compile_text(DENSE, target, CompileOptions(auto_cast=cast))
    program = program_of(result)
    (output,) = run(program, dense_arguments(), result.target.machine).outputs
    assert np.abs(output - dense_result()).max() <= bound
    assert program.metadata["module"] == "dense"
    assert program.metadata["arguments"] == "3"
    sources = {(s.name, s.framework, s.file, s.line) for s in program.sources}
    assert ("dot.3", "jit(f)/dot_general", "model.py", 7) in sources


@pytest.mark.parametrize("phase", PHASES[:-1])
def test_resuming_gives_the_same_bytes(phase: str, tmp_path: Path) -> None:
    model, _, _ = write_model(tmp_path)
    middle, whole, resumed = (tmp_path / n for n in ("m.mlir", "a.neff", "b.neff"))
    exact = replace(EXACT, tiling="always") if phase == "tiled" else EXACT
    compile_file(model, "trn1", exact).write(whole)
    compile_file(model, "trn1", replace(exact, compile_to=phase)).write(middle)
    compile_file(str(middle), "trn1", replace(exact, compile_from=phase)).write(resumed)
    assert read_neff(resumed) == read_neff(whole)
    assert resumed.read_bytes() == whole.read_bytes()


def test_paths_do_not_matter(tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        model, _, _ = write_model(folder)
        for phase in ("hlo", "binary"):
            compile_file(model, "trn1", replace(EXACT, compile_to=phase)).write(folder / phase)
        files.append([(folder / phase).read_bytes() for phase in ("hlo", "binary")])
    assert files[0] == files[1]
    assert str(tmp_path).encode() not in b"".join(files[0])


@pytest.mark.parametrize("tiling", ["never", "always"])
def test_dumps_are_numbered_and_can_be_rerun(tiling: str, tmp_path: Path) -> None:
    options = replace(EXACT, dump_phases_to=str(tmp_path / "d"), tiling=tiling)
    program = program_of(compile_text(DENSE, "trn1", options))
    names = sorted(p.name for p in (tmp_path / "d").iterdir())
    assert names == [
        f"{i}-{phase}.mlir"
        for i, phase in enumerate(PHASES[:-1])
        if phase != "tiled" or tiling == "always"
    ]
    for name in names:
        phase = name[2:].removesuffix(".mlir")
        assert f"--compile-from {phase}" in (tmp_path / "d" / name).read_text()
        again = replace(EXACT, compile_from=phase, tiling=tiling)
        resumed = compile_file(str(tmp_path / "d" / name), "trn1", again)
        assert program_of(resumed) == program


@pytest.mark.parametrize("names", [("arg1", "arg2"), ("w.2", "b.4")])
def test_bound_weights_are_constants(names: tuple[str, str]) -> None:
    x, w, b = dense_arguments()
    options = replace(EXACT, weights=dict(zip(names, (w, b), strict=True)))
    result = compile_text(DENSE, "trn1", options)
    program = program_of(result)
    inputs = [(v.name, v.index) for v in program.variables if v.kind == "input"]
    assert inputs == [("x.1", 0)]
    assert any(v.kind == "constant" for v in program.variables)
    (output,) = run(program, [x], result.target.machine).outputs
    assert np.abs(output - dense_result()).max() <= 1e-5


def test_other_parameters_keep_their_numbers() -> None:
    x, w, b = dense_arguments()
    program = program_of(compile_text(DENSE, "trn1", replace(EXACT, weights={"arg0": x})))
    assert sorted(v.index for v in program.variables if v.kind == "input") == [1, 2]


@pytest.mark.parametrize(
    ("weights", "code"),
    [
        ({"arg7": np.zeros(1, np.float32)}, "NIR_DRV003"),
        ({"arg2": np.zeros(32, np.float32), "b.4": np.zeros(32, np.float32)}, "NIR_DRV003"),
        ({"arg2": np.zeros(31, np.float32)}, "NIR_DRV004"),
        ({"arg2": np.zeros(32, np.float64)}, "NIR_DRV005"),
    ],
)
def test_wrong_weights(weights: dict[str, np.ndarray], code: str) -> None:
    with pytest.raises(NeuronError, match=code):
        compile_text(DENSE, "trn1", replace(EXACT, weights=weights))


def test_wrong_phases() -> None:
    with pytest.raises(NeuronError, match="NIR_DRV001.*no phase 'nonsense'"):
        compile_text(DENSE, "trn1", CompileOptions(compile_to="nonsense"))
    with pytest.raises(NeuronError, match="NIR_DRV001.*nothing to do"):
        compile_text(DENSE, "trn1", CompileOptions(compile_from="hlo", compile_to="parsed"))


def test_a_file_without_an_entry(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  func.return %x : tensor<4xf32>\n}\n"
    )
    with pytest.raises(NeuronError, match="NIR_DRV002"):
        compile_file(str(path), "trn1", CompileOptions(compile_from="hlo"))


def test_a_file_in_another_phase_or_for_another_target(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    compile_text(DENSE, "trn1", replace(EXACT, compile_to="virtual")).write(path)
    with pytest.raises(NeuronError, match="NIR_DRV007.*'virtual', not 'ordered'"):
        compile_file(str(path), "trn1", CompileOptions(compile_from="ordered"))
    with pytest.raises(NeuronError, match="NIR_DRV007.*'trn1', not 'inf1'"):
        compile_file(str(path), "inf1", CompileOptions(compile_from="virtual"))


def test_a_program_that_the_machine_cannot_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text("""builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x128xf32, #nc.space<"sbuf">>
    nc.memset (%a[0:128 | 128:1 | 0]) = () {value = 1.0}
    nc.matmul (%a[0:128 | 128:1 | 0]) = (%a[0:128 | 128:1 | 0], %a[0:128 | 128:1 | 0])
    nc.return
  }
}
""")
    with pytest.raises(RunFailure) as caught:
        compile_file(str(path), "trn1", CompileOptions(compile_from="virtual"))
    assert not caught.value.internal
    shown = caught.value.diagnostic.render({})
    assert "x.mlir:5:5: error: [NIR_NC010]" in shown and "pe cannot write SBUF, only PSUM" in shown


def test_wrong_text_has_a_place() -> None:
    with pytest.raises(RunFailure) as caught:
        compile_text(DENSE.replace("dimensions={1}", "dimensions={1"), "trn1", name="m.hlo")
    assert not caught.value.internal
    assert "m.hlo:13:" in caught.value.diagnostic.render({})
