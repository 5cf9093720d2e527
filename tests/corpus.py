"""Where the corpus of real models is, for the tests that read it, and its inputs and references."""

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.dialects.support.npz import load_npz, numbered

CORPUS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpus"

Array = NDArray[Any]


def corpus_dir() -> Path:
    """The corpus folder; skips the test, saying so, when it is absent."""
    if not CORPUS.is_dir():
        pytest.skip("the model corpus ../shared/corpus is absent")
    return CORPUS


def make_args(json_path: Path, seed: int = 0) -> list[Array]:
    """The inputs that a program's references were computed with, from its NAME.json.

    Drawn in order from one generator: int4 = integers in [0, 4); ones; else N(0, 1) * 0.5, or
    * 0.05 above 4096 elements; pos is |that| + 0.5.
    """
    rng = np.random.default_rng(seed)
    args: list[Array] = []
    for _, shape, type_name, kind in json.loads(json_path.read_text())["args"]:
        dtype = np.dtype(getattr(ml_dtypes, type_name, None) or type_name)
        if kind == "int4":
            args.append(rng.integers(0, 4, shape).astype(dtype))
        elif kind == "ones":
            args.append(np.ones(shape, dtype))
        else:
            scale = np.float32(0.05 if np.prod(shape) > 4096 else 0.5)
            value = rng.standard_normal(shape, dtype=np.float32) * scale
            if kind == "pos":
                value = np.abs(value) + np.float32(0.5)
            args.append(np.asarray(value).astype(dtype))
    return args


def program_args(hlo_path: Path) -> list[Array]:
    """The inputs of an hlo/ program: those in its NAME.ref.npz, else by `make_args`."""
    reference = hlo_path.with_suffix(".ref.npz")
    stored = numbered(load_npz(reference), "arg") if reference.exists() else []
    return stored or make_args(hlo_path.with_suffix(".json"))


def program_reference(hlo_path: Path) -> dict[str, Array]:
    """The entries of NAME.ref.npz: out{i}, or stat{i} and head{i}."""
    return load_npz(hlo_path.with_suffix(".ref.npz"))
