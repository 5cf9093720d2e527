"""The corpus of models in this folder, and the arguments and references of its programs.

README.md describes the folders and the conventions of the files.
"""

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.support.npz import load_npz

CORPUS = Path(__file__).resolve().parent

Array = NDArray[Any]
Rule = tuple[str, list[int], str, str]
"""Name, shape, element type and kind of an argument, as NAME.json lists them."""


def draw(rules: list[Rule], seed: int = 0) -> list[Array]:
    """Draw the arguments that `rules` describe, in order, from one generator.

    Kinds: `int4` gives integers in [0, 4); `ones` gives ones; `normal` gives N(0, 1) times 0.5, or
    times 0.05 above 4096 elements; `pos` gives the magnitude of `normal` plus 0.5. A complex array
    takes its real parts first, then its imaginary parts.
    """
    rng = np.random.default_rng(seed)
    return [_drawn(rng, shape, type_name, kind) for _, shape, type_name, kind in rules]


def _drawn(rng: np.random.Generator, shape: list[int], type_name: str, kind: str) -> Array:
    dtype = np.dtype(getattr(ml_dtypes, type_name, None) or type_name)
    if kind == "int4":
        return rng.integers(0, 4, shape).astype(dtype)
    if kind == "ones":
        return np.ones(shape, dtype)
    scale = np.float32(0.05 if np.prod(shape) > 4096 else 0.5)
    value = rng.standard_normal(shape, dtype=np.float32) * scale
    if dtype.kind == "c":
        value = value + 1j * rng.standard_normal(shape, dtype=np.float32) * scale
    elif kind == "pos":
        value = np.abs(value) + np.float32(0.5)
    return np.asarray(value).astype(dtype)


def program_args(hlo_path: Path) -> list[Array]:
    """Return the arguments of an HLO program, drawn by the rules in its NAME.json.

    The references in NAME.ref.npz were computed from the same arguments.
    """
    return draw(json.loads(hlo_path.with_suffix(".json").read_text())["args"])


def program_reference(hlo_path: Path) -> dict[str, Array]:
    """Return the entries of NAME.ref.npz: out{i}, or stat{i} and head{i}."""
    return load_npz(hlo_path.with_suffix(".ref.npz"))
