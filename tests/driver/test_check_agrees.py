"""neuron-check says of a model what the compile says: supported, or refused."""

from functools import cache
from pathlib import Path

import pytest

from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions, compile_file
from neuronir.driver.check import Report, check_model
from neuronir.driver.pass_runner import RunFailure
from tests.corpus import CORPUS, operators

TARGETS = ("trn1", "inf1")
SAMPLE = (
    "hlo/core/mlp.hlo",
    "hlo/core/xent_grad.hlo",
    "hlo/core/hf_bert_tiny.hlo.pb",
    "hlo/core/mlp.stablehlo.mlir",
    "hlo/core/batchnorm_train.hlo",
    "hlo/ops/rng_bit_generator.hlo",
    "hlo/ops/linalg.hlo",
    "hlo/ops/int_zoo.hlo",
    "hlo/ops/while_newton.hlo",
    "hlo/parallel/spmd_collectives.hlo",
    "hlo/zoo/lstm_512steps_b16_h512.hlo",
    "tf/tf1_cond.pb",
    "tf/tf1_while.pbtxt",
    "tf/tf1_convnet.pb",
    "defects/rng.hlo",
    "defects/tf32.hlo",
    "defects/dot_mixed.hlo",
    "defects/scatter_s32_add.hlo",
)
"""Quick ones of each kind, which targets take, refuse, or refuse when they are lowered."""
LONG_ON_INF1 = (
    "hlo/ops/int_zoo.hlo",
    "hlo/ops/rng_bit_generator.hlo",
    "hlo/zoo/lstm_512steps_b16_h512.hlo",
    "defects/rng.hlo",
)
"""Words in parts of fp32 and unrolled loops: thousands of instructions."""


@cache
def _files() -> tuple[str, ...]:
    """All models of the corpus."""
    found: list[Path] = []
    for kind in (".hlo", ".pb", ".pbtxt", ".onnx", ".mlir"):
        found += CORPUS.rglob(f"*{kind}")
    # A SavedModel is its folder, and what else is in there is no model.
    saved = {path.parent for path in found if path.name == "saved_model.pb"}
    found = [path for path in found if not saved.intersection(path.parents)]
    return tuple(sorted(str(path.relative_to(CORPUS)) for path in (*found, *saved)))


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
    assert _same(CORPUS / name, target)


def _same(path: Path, target: str) -> bool:
    """Whether both say the same. A compile that ends well is not made twice, as only what it says
    could be different."""
    compiles = _compiles(path, target)
    report = _checked(path, target, lower=not compiles)
    return (report is not None and report.supported(target)) == compiles


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [name for name in SAMPLE if name not in LONG_ON_INF1])
def test_on_a_sample(name: str, target: str) -> None:
    _agree(name, target)


@pytest.mark.parametrize("name", LONG_ON_INF1)
def test_on_a_sample_on_trn1(name: str) -> None:
    _agree(name, "trn1")


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
    for name in operators.names()[part::16]:
        path = tmp_path / f"{name}.hlo"
        path.write_text(operators.text_of(name))
        if not _same(path, target):
            differing.append(name)
    assert not differing


_TOO_LARGE = """HloModule m

a {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT s = s32[] maximum(x, y)
}

ENTRY e {
  p = s32[8,200000] parameter(0)
  z = s32[] constant(-2147483648)
  ROOT r = s32[8,200000] reduce-window(p, z), window={size=1x5 pad=0_0x2_2}, to_apply=a
}
"""


def test_what_only_the_lowering_finds(tmp_path: Path) -> None:
    """Operators that are supported, of a program that does not fit."""
    path = tmp_path / "large.hlo"
    path.write_text(_TOO_LARGE)
    assert check_model(str(path), ["trn1"], lower=False).supported("trn1")
    whole = check_model(str(path), ["trn1"])
    assert not whole.unsupported("trn1") and not whole.supported("trn1")
    assert not _compiles(path, "trn1")
    assert "[NCC_EOOM002]" in whole.refused["trn1"]
