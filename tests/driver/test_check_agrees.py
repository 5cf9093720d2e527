"""neuron-check says of a model what the compile says: supported, or refused."""

import zipfile
from functools import cache
from pathlib import Path

import pytest

from neuronir.cli.neuron_opt_run import RunFailure
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions, compile_file
from neuronir.driver.check import Report, check_model
from tests.corpus import CORPUS, corpus_dir

DEFECTS = CORPUS.parent / "defects"
TARGETS = ("trn1", "inf1")
SAMPLE = (
    "corpus/hlo/core/mlp.hlo",
    "corpus/hlo/core/xent_grad.hlo",
    "corpus/hlo/core/hf_bert_tiny.hlo.pb",
    "corpus/hlo/core/mlp.stablehlo.mlir",
    "corpus/hlo/core/batchnorm_train.hlo",
    "corpus/hlo/ops/rng_bit_generator.hlo",
    "corpus/hlo/ops/linalg.hlo",
    "corpus/hlo/ops/int_zoo.hlo",
    "corpus/hlo/ops/while_newton.hlo",
    "corpus/hlo/parallel/spmd_collectives.hlo",
    "corpus/hlo/zoo/lstm_512steps_b16_h512.hlo",
    "corpus/tf/tf1_cond.pb",
    "corpus/tf/tf1_while.pbtxt",
    "corpus/tf/tf1_convnet.pb",
    "defects/rng.hlo",
    "defects/tf32.hlo",
    "defects/dot_mixed.hlo",
    "defects/scatter_s32_add.hlo",
)
"""Quick ones of each kind, which targets take, refuse, or refuse when they are lowered."""


@cache
def _files() -> tuple[str, ...]:
    """All models of the corpus and of the folder of defects, from the folder above them."""
    found: list[Path] = []
    for folder in (CORPUS, DEFECTS):
        for kind in (".hlo", ".pb", ".pbtxt", ".onnx", ".mlir"):
            found += folder.rglob(f"*{kind}")
    # A SavedModel is its folder, and what else is in there is no model.
    saved = {path.parent for path in found if path.name == "saved_model.pb"}
    found = [path for path in found if not saved.intersection(path.parents)]
    return tuple(sorted(str(path.relative_to(CORPUS.parent)) for path in (*found, *saved)))


def _checked(path: Path, target: str, *, lower: bool) -> Report | None:
    """What neuron-check finds; None where it ends in an error of the user's."""
    try:
        return check_model(str(path), [target], lower=lower)
    except (NeuronError, RunFailure) as error:
        _of_the_user(error)
        return None


def _compiles(path: Path, target: str) -> bool:
    try:
        compile_file(str(path), target, CompileOptions())
    except (NeuronError, RunFailure) as error:
        _of_the_user(error)
        return False
    return True


def _of_the_user(error: NeuronError | RunFailure) -> None:
    """Raise what is a fault of ours: that refuses nothing."""
    if isinstance(error, RunFailure) and error.internal:
        raise error


def _agree(name: str, target: str) -> None:
    path = corpus_dir().parent / name
    if not path.exists():
        pytest.skip(f"{name} is absent")
    assert _same(path, target)


def _same(path: Path, target: str) -> bool:
    """Whether both say the same. A compile that ends well is not made twice, as only what it says
    could be different."""
    compiles = _compiles(path, target)
    report = _checked(path, target, lower=not compiles)
    return (report is not None and report.supported(target)) == compiles


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SAMPLE)
def test_on_a_sample(name: str, target: str) -> None:
    _agree(name, target)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", _files())
def test_on_every_model(name: str, target: str) -> None:
    _agree(name, target)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("part", range(16))
def test_on_every_operation(part: int, target: str, tmp_path: Path) -> None:
    """The programs of one operation of the archive, one in sixteen."""
    differing = []
    with zipfile.ZipFile(corpus_dir() / "jax_ops.zip") as archive:
        names = sorted(n for n in archive.namelist() if n.endswith(".hlo"))[part::16]
        for name in names:
            path = tmp_path / name
            path.write_bytes(archive.read(name))
            if not _same(path, target):
                differing.append(name)
    assert not differing


_TOO_LARGE = """HloModule m

ENTRY e {
  p = f32[64,8,60000] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[64,8] reduce(p, z), dimensions={2}, to_apply=a
}
"""
_ADD = "a {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n\n"


def test_what_only_the_lowering_finds(tmp_path: Path) -> None:
    """Operators that are supported, of a program that does not fit."""
    path = tmp_path / "large.hlo"
    path.write_text(_TOO_LARGE.replace("ENTRY", _ADD + "ENTRY"))
    quick = check_model(str(path), TARGETS, lower=False)
    assert all(quick.supported(target) for target in TARGETS)
    whole = check_model(str(path), TARGETS)
    assert not any(whole.unsupported(target) for target in TARGETS)
    for target in TARGETS:
        assert whole.supported(target) == _compiles(path, target)
    assert "[NCC_EOOM002]" in whole.refused["inf1"]
