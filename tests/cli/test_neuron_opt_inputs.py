"""neuron-opt --run with --inputs and --outputs, at every kind of phase."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from neuronir.cli.neuron_opt import ELIDED_ON_TERMINAL, main
from neuronir.dialects.support.npz import load_npz, save_npz

PROGRAM = """
func.func @main(%x: tensor<4x8xf32> {hlo.name = "x"}, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %d = hlo.dot %x, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0]
    : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %t = hlo.tanh %d : tensor<4x3xf32>
  func.return %t : tensor<4x3xf32>
}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, np.ndarray]:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(4, 8)).astype("f4"), rng.normal(size=(8, 3)).astype("f4")
    program, inputs = tmp_path / "p.mlir", tmp_path / "in.npz"
    program.write_text(PROGRAM)
    save_npz(inputs, {"x": x, "arg1": w})
    return program, inputs, np.tanh(x @ w)


@pytest.mark.parametrize(
    "options",
    [
        ["--run"],
        ["-p", "@trn1:hlo,@trn1:tiled", "--run"],
        ["-p", "@trn1:hlo,@trn1:virtual", "--run"],
        ["-p", "@trn1:hlo,@trn1:virtual,@trn1:ordered", "--run"],
        ["--run=trn1:allocated"],
    ],
    ids=["hlo", "tiled", "virtual", "ordered", "target"],
)
def test_a_program_runs_on_arrays(
    files: tuple[Path, Path, np.ndarray], tmp_path: Path, options: list[str]
) -> None:
    program, inputs, expected = files
    out = tmp_path / "out.npz"
    arguments = [str(program), *options, "--inputs", str(inputs), "--outputs", str(out)]
    assert main(arguments) == 0
    np.testing.assert_allclose(load_npz(out)["out0"], expected, rtol=2e-2, atol=2e-2)


def test_a_missing_argument_is_named(
    files: tuple[Path, Path, np.ndarray], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program, _, _ = files
    few = tmp_path / "few.npz"
    save_npz(few, {"arg0": np.zeros((4, 8), "f4")})
    assert main([str(program), "--run", "--inputs", str(few)]) == 1
    assert "[NIR_RUN003]" in (err := capfd.readouterr().err) and "arg1" in err
    nc = ["-p", "@trn1:hlo,@trn1:virtual"]
    assert main([str(program), *nc, "--run", "--inputs", str(few)]) == 1
    assert "[NIR_RUN003]" in (err := capfd.readouterr().err) and "arg1" in err


def test_a_wrong_shape_is_refused(
    files: tuple[Path, Path, np.ndarray], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program, _, _ = files
    wrong = tmp_path / "wrong.npz"
    save_npz(wrong, {"arg0": np.zeros((4, 9), "f4"), "arg1": np.zeros((8, 3), "f4")})
    assert main([str(program), "--run", "--inputs", str(wrong)]) == 1
    assert "[NIR_NPZ006]" in capfd.readouterr().err
    assert (
        main([str(program), "-p", "@trn1:hlo,@trn1:virtual", "--run", "--inputs", str(wrong)]) == 1
    )
    assert "[NIR_SIM008]" in capfd.readouterr().err


def test_inputs_need_run(files: tuple[Path, Path, np.ndarray]) -> None:
    program, inputs, _ = files
    assert main([str(program), "--inputs", str(inputs)]) == 2


def test_an_nc_module_is_not_compiled_again(
    files: tuple[Path, Path, np.ndarray], capfd: pytest.CaptureFixture[str]
) -> None:
    program, inputs, _ = files
    nc = ["-p", "@trn1:hlo,@trn1:virtual", "--run=trn1", "--inputs", str(inputs)]
    assert main([str(program), *nc]) == 1
    assert "[NIR_RUN]" in capfd.readouterr().err


def test_large_constants_are_elided_on_a_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [list(range(n)) for n in (ELIDED_ON_TERMINAL, ELIDED_ON_TERMINAL + 1, 1 << 14)]
    program = tmp_path / "c.mlir"
    program.write_text(
        "func.func @f() {\n"
        + "".join(
            f"  %c{len(n)} = hlo.constant dense<{n}> : tensor<{len(n)}xi32>\n" for n in numbers
        )
        + "  func.return\n}\n"
    )
    assert main([str(program)]) == 0
    assert "FF3F0000" in capfd.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main([str(program)]) == 0
    shown = capfd.readouterr().out
    assert "63]> : tensor<64xi32>" in shown and shown.count("__elided__") == 2
    assert main([str(program), "--elide-elementsattrs-if-larger=100000"]) == 0
    assert "FF3F0000" in capfd.readouterr().out
    out = tmp_path / "o.mlir"
    assert main([str(program), "-o", str(out)]) == 0
    assert "FF3F0000" in out.read_text()


@pytest.mark.parametrize("passes", [[], ["-p", "@trn1:hlo,@trn1:virtual"]], ids=["hlo", "nc"])
def test_arrays_that_are_no_arguments_are_named(
    files: tuple[Path, Path, np.ndarray],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    passes: list[str],
) -> None:
    program, inputs, _ = files
    more = tmp_path / "more.npz"
    save_npz(more, {**load_npz(inputs), "y": np.zeros(3, ml_dtypes.bfloat16)})
    assert main([str(program), *passes, "--run", "--inputs", str(inputs)]) == 0
    assert "ignored" not in capfd.readouterr().err
    assert main([str(program), *passes, "--run", "--inputs", str(more)]) == 0
    warned = "more.npz: ignored, because the program has no such argument: 'y'\n"
    assert warned in capfd.readouterr().err
