"""The programs of siblings.tar.xz: what the compiled program computes agrees with XLA."""

import json
import tarfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.dialects.support.compare import compare
from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.acceptance.programs import decoded
from tests.corpus import CORPUS
from tests.oracle import run_xla

Array = NDArray[Any]
ARCHIVE = CORPUS / "siblings.tar.xz"
NORM = {"none": 4e-6, "matmult": 8e-3}
"""The norm of the error over that of the result: of fp32 sums of some thousand elements, and of a
few products of bf16 operands in a chain."""
CHOOSES = {"moe_top2_512x256_e8": 0.2}
"""The same in the default precision of a program that chooses by products: of two experts that are
nearly equal, bf16 operands may choose the other one."""
NARROW = 6e-3
"""The same of a result in 16 bits: XLA rounds each elementwise op to them."""


def _names() -> list[str]:
    with tarfile.open(ARCHIVE) as archive:
        paths = map(Path, archive.getnames())
        return sorted(path.stem for path in paths if path.suffix == ".hlo")


def _files(name: str) -> tuple[str, dict[str, Any]]:
    """The text of a program, and its facts."""
    with tarfile.open(ARCHIVE) as archive:
        found = [archive.extractfile(f"siblings/{name}{kind}") for kind in (".hlo", ".json")]
        text, facts = (file.read() for file in found if file is not None)
    return text.decode(), json.loads(facts)


def arguments(rules: list[tuple[str, list[int], str, str]]) -> list[Array]:
    """Indices beyond a handful, and matrices that neither grow nor shrink what they multiply: a
    recurrence of larger ones would be chaotic."""
    rng = np.random.default_rng(0)
    made: list[Array] = []
    for _, shape, type_name, kind in rules:
        dtype = np.dtype(getattr(ml_dtypes, type_name, None) or type_name)
        if dtype.kind in "iub":
            most = 2 if dtype.kind == "b" else min(np.iinfo(dtype).max, 997 if shape else 200)
            made.append(rng.integers(0, most, shape).astype(dtype))
            continue
        scale = min(0.3, shape[-2] ** -0.5) if len(shape) > 1 else 0.3
        value = rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
        value = np.abs(value) + np.float32(0.5) if kind == "pos" else value
        made.append(np.asarray(np.ones(shape) if kind == "ones" else value).astype(dtype))
    return made


def check(name: str, cast: str) -> None:
    """Compile a program for trn1, run it with races checked, and compare with XLA."""
    text, facts = _files(name)
    options = CompileOptions(auto_cast=cast)
    args = arguments(facts["args"])
    program = decoded(compile_text(text, "trn1", options))
    given = sorted(v.index for v in program.variables if v.kind == "input")
    machine = get_target("trn1").machine
    outputs = run(program, [args[i] for i in given], machine, Options(races=True)).outputs
    wanted = run_xla(text, args)
    report = compare(outputs, {f"out{i}": x for i, x in enumerate(wanted)}, rtol=1.0)
    for found, reference in zip(report.outputs, wanted, strict=True):
        exact = reference.dtype.kind in "biu"
        narrow = reference.dtype.kind not in "biu" and reference.dtype.itemsize < 4
        usual = NORM[cast] if cast == "none" else CHOOSES.get(name, NORM[cast])
        allowed = 0.0 if exact else max(usual, NARROW if narrow else 0.0)
        assert found.ok and found.norm_rel <= allowed, found.render()


@pytest.mark.parametrize(
    "name", ["topk100_256x2000", "rnn_300x16x64", "embedding_bag_20000x128_256x20"]
)
def test_some_siblings(name: str) -> None:
    check(name, "none")


@pytest.mark.slow
@pytest.mark.parametrize("cast", NORM)
@pytest.mark.parametrize("name", _names())
def test_every_sibling(name: str, cast: str) -> None:
    check(name, cast)
