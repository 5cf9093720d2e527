"""neuron-cc: options with the meaning that its documentation gives them."""

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuronir.cli import neuron_cc, neuron_sim, neuronx_cc
from neuronir.cli.cc_args import FLAGS
from neuronir.dialects.nc.instruction import Instruction, Program
from neuronir.dialects.support.npz import npz_bytes
from neuronir.driver.precision import FAST_MATH, FP32_CASTS, Precision, WrongKeywords, precision_of
from neuronir.passes.hlo.auto_cast import MODES, RELAYOUTS, TYPES
from neuronir.targets.neff.reader import load_neff

TINY = """HloModule tiny

ENTRY main {
  x = f32[4,64] parameter(0)
  w = f32[64,32] parameter(1)
  d = f32[4,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = f32[4,32] tanh(d)
  t = f32[32,4] transpose(h), dimensions={1,0}
  ROOT e = f32[32,4] exponential(t)
}
"""
_RNG = np.random.default_rng(1)
TINY_ARGS = [_RNG.standard_normal(s).astype(np.float32) for s in ((4, 64), (64, 32))]
DEFAULT = Precision("all", "bf16", "bf16")
NONE = Precision("matmult", "bf16", "exact")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, in which the compiler runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", "")
    monkeypatch.delenv(FLAGS, raising=False)
    (tmp_path / "m.hlo").write_text(TINY)
    return tmp_path


def metadata(path: str = "out.neff") -> dict[str, str]:
    return dict(load_neff(path).program.metadata)


def compiled(*options: str) -> int:
    return neuron_cc.main(["compile", "m.hlo", "--framework", "XLA", *options])


# --- precision


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("", DEFAULT),
        ("all", DEFAULT),
        ("fp32-cast-all fast-relayout", DEFAULT),
        ("none", NONE),
        ("fp32-cast-matmult-bf16 no-fast-relayout", NONE),
        ("fp32-cast-matmult", Precision("matmult", "bf16", "fp16")),
        ("fp32-cast-matmult no-fast-relayout", NONE),
        ("fp32-cast-matmult-bf16", Precision("matmult", "bf16", "bf16")),
        ("fp32-cast-matmult-fp16", Precision("matmult", "fp16", "fp16")),
        ("fp32-cast-all-fp16", Precision("all", "fp16", "fp16")),
        ("no-fast-relayout", Precision("all", "bf16", "exact")),
        ("all no-fast-relayout", Precision("all", "bf16", "exact")),
        ("none fast-relayout", Precision("matmult", "bf16", "bf16")),
        ("none fp32-cast-all-fp16", Precision("all", "fp16", "exact")),
        ("all fp32-cast-matmult", Precision("matmult", "bf16", "fp16")),
    ],
)
def test_keywords(words: str, wanted: Precision) -> None:
    assert precision_of(words.split()) == wanted


@pytest.mark.parametrize("cast", sorted(FP32_CASTS))
def test_fp32_cast_is_the_cast_half(cast: str) -> None:
    assert precision_of((), cast) == precision_of([f"fp32-cast-{cast}"]) == FP32_CASTS[cast]
    exact = precision_of(["none"], cast)
    assert (exact.auto_cast, exact.auto_cast_type) == (
        FP32_CASTS[cast].auto_cast,
        FP32_CASTS[cast].auto_cast_type,
    )
    assert exact.relayout == "exact"
    assert precision_of(["fp32-cast-all"], cast) == FP32_CASTS[cast]  # --fp32-cast wins


def test_each_two_keywords_fit_or_are_refused() -> None:
    groups = [
        {"all", "none"},
        {"fast-relayout", "no-fast-relayout"},
        {word for word in FAST_MATH if word.startswith("fp32-cast-")},
    ]
    for pair in itertools.combinations(FAST_MATH, 2):
        if any(set(pair) <= group for group in groups):
            with pytest.raises(WrongKeywords, match="exclude each other"):
                precision_of(pair)
        else:
            found = precision_of(pair)
            assert found == precision_of(pair[::-1])
            assert found.auto_cast in MODES
            assert found.auto_cast_type in TYPES
            assert found.relayout in RELAYOUTS


@pytest.mark.parametrize(
    ("options", "precision", "relayout"),
    [
        ((), "all:bf16", "bf16"),
        (("--fast-math", "none"), "matmult:bf16", None),
        (("--fast-math", "fp32-cast-matmult", "no-fast-relayout"), "matmult:bf16", None),
        (("--fast-math=fp32-cast-matmult no-fast-relayout",), "matmult:bf16", None),
        (("--fp32-cast", "matmult-fp16"), "matmult:fp16", "fp16"),
        (("--fp32-cast", "all-fp16", "--fast-math", "none"), "all:fp16", None),
    ],
)
def test_the_binary_is_of_that_precision(
    folder: Path, options: tuple[str, ...], precision: str, relayout: str | None
) -> None:
    """Each binary computes what the rounded program says, on the simulated machine."""
    assert compiled(*options) == 0
    found = metadata()
    assert (found["precision"], found.get("relayout")) == (precision, relayout)
    Path("in.npz").write_bytes(npz_bytes({f"arg{i}": a for i, a in enumerate(TINY_ARGS)}))
    assert neuron_sim.main(["run", "out.neff", "--inputs", "in.npz", "--model", "m.hlo"]) == 0


def test_keywords_end_before_the_model(folder: Path) -> None:
    words = ["compile", "--fast-math", "none", "m.hlo", "--framework", "XLA"]
    assert neuron_cc.main(words) == 0
    assert metadata()["precision"] == "matmult:bf16"


def test_an_overridden_keyword_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled("--fast-math", "fp32-cast-all", "--fp32-cast", "matmult") == 0
    told = "warning: --fp32-cast matmult overrides fp32-cast-all of --fast-math\n"
    assert capsys.readouterr().err == told


# --- other options


def test_historical_options_are_told_to_have_no_effect(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batching = "--batching_en --rematerialization_en --spill_dis --sb_size 110"
    words = f"{batching} --enable-replication True --static-weights -O2 --num-neuroncores 1"
    assert compiled(*words.split()) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert all(" has no effect here: " in line for line in lines)
    with_them = (folder / "out.neff").read_bytes()
    assert compiled() == 0
    assert (folder / "out.neff").read_bytes() == with_them


@pytest.mark.parametrize("form", ["text", "file", "uri"])
def test_io_config(folder: Path, form: str) -> None:
    config = '{"inputs": {"x": [[4, 3], "float32"]}, "outputs": ["y"]}'
    (folder / "io.json").write_text(config)
    (folder / "m.onnxtxt").write_text(
        '< ir_version: 10, opset_import: ["" : 20] >\n'
        "m (float[n, 3] x) => (float[n, 3] y) { y = Tanh(x) }\n"
    )
    given = {"text": config, "file": "io.json", "uri": (folder / "io.json").as_uri()}[form]
    model = (folder / "m.onnxtxt").as_uri() if form == "uri" else "m.onnxtxt"
    words = ["compile", model, "--framework", "ONNX", "--io-config", given]
    assert neuron_cc.main(words) == 0
    assert load_neff("out.neff").program.machine == "inf1"


def test_levels_and_streams(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert neuron_cc.main(["--log-level", "INFO", "compile", "m.hlo", "--framework", "XLA"]) == 0
    out, err = capsys.readouterr()
    assert "Running hlo\n" in out
    assert "Compiler status PASS\n" in out
    assert err == ""
    assert compiled("--verbose", "20", "--batching_en") == 0
    out, err = capsys.readouterr()
    assert "Running hlo\n" in out
    assert err.startswith("warning: option --batching_en")
    assert compiled("--verbose", "ERROR", "--batching_en") == 0
    assert capsys.readouterr() == ("", "")
    assert neuron_cc.main(["compile", "none.hlo", "--framework", "XLA"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: [NIR_INPUT] cannot read 'none.hlo'")


def test_work_directory(folder: Path) -> None:
    assert compiled("--workdir", "work", "--pipeline", "compile", "SaveTemps") == 0
    kept = {path.name for path in (folder / "work").iterdir()}
    assert kept >= {"log-neuron-cc.txt", "1-hlo.mlir", "6-synchronised.mlir"}
    assert compiled("--pipeline", "compile", "SaveTemps", "-o", "b.neff") == 0
    assert (folder / "b.neff.temps" / "1-hlo.mlir").exists()


# --- NEURON_CC_FLAGS


def test_both_compilers_read_the_flags(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FLAGS, "--fast-math none -O1")
    assert compiled() == 0
    assert metadata()["options"] == "--auto-cast matmult:bf16 -O1"
    assert compiled("--fast-math", "fp32-cast-all-fp16", "-O2") == 0  # the command line wins
    assert metadata()["precision"] == "all:fp16"
    words = ["compile", "m.hlo", "--framework", "XLA", "--target", "trn1", "-o", "out.neff"]
    monkeypatch.setenv(FLAGS, "--auto-cast all --auto-cast-type fp16 --cache_dir=kept")
    assert neuronx_cc.main(words) == 0
    assert metadata()["precision"] == "all:fp16"
    assert (folder / "kept").is_dir()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--fast-mth none", "NEURON_CC_FLAGS: unrecognized arguments: --fast-mth"),
        ("--workdir 'open", "NEURON_CC_FLAGS: No closing quotation"),
    ],
)
def test_wrong_flags_are_told_by_name(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: str,
    told: str,
) -> None:
    monkeypatch.setenv(FLAGS, flags)
    assert compiled() == 2
    assert told in capsys.readouterr().err
    assert neuron_cc.main(["list-operators"]) == 0  # they are options of compile


# --- neuronx-cc with the options of neuron-cc


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("--fast-math none", ("matmult:bf16", None)),
        ("--fp32-cast matmult-fp16", ("matmult:fp16", "fp16")),
        ("--fast-math none --auto-cast all", ("all:bf16", None)),  # the last one wins
        ("--auto-cast none --fast-math all", ("all:bf16", "bf16")),
        ("--static-weights --num-neuroncores 1", ("matmult:bf16", None)),
        ("--auto-cast-type tf32", ("matmult:tf32", None)),
        ("--auto-cast all --auto-cast-type tf32", ("all:tf32", None)),
        ("--auto-cast none", ("none", None)),
    ],
)
def test_neuronx_cc_takes_them(folder: Path, options: str, wanted: tuple[str, str | None]) -> None:
    words = ["compile", "m.hlo", "--framework", "XLA", "--target", "trn1", "-o", "out.neff"]
    assert neuronx_cc.main([*words, *options.split()]) == 0
    found = metadata()
    assert (found["precision"], found.get("relayout")) == wanted
    Path("in.npz").write_bytes(npz_bytes({f"arg{i}": a for i, a in enumerate(TINY_ARGS)}))
    assert neuron_sim.main(["run", "out.neff", "--inputs", "in.npz", "--model", "m.hlo"]) == 0


def test_nothing_cast_for_inf1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """inf1 has no fp32 products: they are in bf16, as with `--fast-math none`, and that is told."""
    words = ["compile", "m.hlo", "--framework", "XLA", "--target", "inf1", "-o", "out.neff"]
    assert neuronx_cc.main([*words, "--auto-cast", "none"]) == 0
    assert capsys.readouterr().err == (
        "warning: --auto-cast none: the tensor engine of inf1 does not support fp32; products "
        "are computed in bf16 and accumulated in fp32\n"
    )
    assert metadata()["precision"] == "matmult:bf16"
    assert neuronx_cc.main([*words, "--auto-cast-type", "tf32"]) == 1
    assert "--auto-cast-type tf32 is not supported by target 'inf1'" in capsys.readouterr().err


# --- diagnostics


def test_no_result_depends_on_an_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "m.hlo").write_text(
        "HloModule m\nENTRY e { x = f32[2] parameter(0)\n ROOT c = f32[2] constant({1, 2}) }\n"
    )
    assert compiled() == 0
    assert "dependent on the inputs listed in --io-config" in capsys.readouterr().err


def test_unaligned_access_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Phase `tiled` loads whole rows here; the direct path moves single elements."""
    monkeypatch.setattr("neuronir.driver.compiler.can_tile", lambda target: False)
    (folder / "m.hlo").write_text(
        "HloModule m\nENTRY e { x = f32[64,64,3] parameter(0)\n"
        " s = f32[64,64,1] slice(x), slice={[0:64], [0:64], [0:1]}\n"
        " ROOT t = f32[64,64,1] tanh(s) }\n"
    )
    assert compiled() == 0
    err = capsys.readouterr().err
    assert re.search(r"warning: unaligned memory access: '\w+' .*moves \d+ pieces of 4 bytes", err)
    (folder / "m.hlo").write_text(TINY)
    assert compiled() == 0
    assert capsys.readouterr().err == ""


def test_data_race_is_an_internal_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A compiler that forgets waits finds out before the binary is written."""
    from neuronir.driver import compiler

    made = compiler._Compile.program

    def without_waits(self: Any, *args: Any) -> Program:
        program = made(self, *args)
        for streams in program.streams.values():
            for items in streams.values():
                items[:] = [replace(i, waits=()) for i in items if isinstance(i, Instruction)]
        return program

    monkeypatch.setattr(compiler._Compile, "program", without_waits)
    assert compiled() == 70
    err = capsys.readouterr().err
    assert re.search(r"Internal ERROR: Data race between Op1 '.*' from .* and Op2 '", err)
    assert "An Internal Compiler Error has occurred" in err
    assert not Path("out.neff").exists()


def test_internal_error_block(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*args: object) -> int:
        raise AssertionError("this cannot be")

    monkeypatch.setattr(neuron_cc, "compile_model", broken)
    assert compiled("--fast-math", "none") == 70
    err = capsys.readouterr().err
    parts = [
        "An Internal Compiler Error has occurred",
        "Error message:  this cannot be",
        "Error class:  AssertionError",
        "Error location:  broken, line ",
        "Command line:  neuron-cc compile m.hlo --framework XLA --fast-math none",
        "Internal details:  ",
        "Version information:  NeuronIR neuron-cc version ",
    ]
    places = [err.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
