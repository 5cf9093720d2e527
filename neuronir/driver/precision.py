"""Define precision modes: neuron-cc's keywords, and their meaning on a machine.

Nothing large is imported here, because command lines need this before any compile.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol

CAST_TYPES = {"bf16": "BF16", "fp16": "F16", "tf32": "TF32", "fp8_e4m3": "F8E4M3"}
"""The values of --auto-cast-type, with the data types of the tensor engine."""
EXACT = "exact"
"""Transposes that keep all bits."""


@dataclass(frozen=True)
class Precision:
    """The options of hlo-auto-cast: `mode` and `type` of the casts, type of the transposes."""

    auto_cast: str
    auto_cast_type: str
    relayout: str = EXACT


FP32_CASTS: dict[str, Precision] = {
    "all": Precision("all", "bf16", "bf16"),
    "all-fp16": Precision("all", "fp16", "fp16"),
    "matmult": Precision("matmult", "bf16", "fp16"),
    "matmult-bf16": Precision("matmult", "bf16", "bf16"),
    "matmult-fp16": Precision("matmult", "fp16", "fp16"),
}
"""The values of --fp32-cast, with transposes by the tensor engine (fast-relayout)."""

_CAST = "fp32-cast-"
_RELAYOUT = {"fast-relayout": True, "no-fast-relayout": False}
_WHOLE = {"all": ("all", True), "none": ("matmult-bf16", False)}
FAST_MATH = (*_WHOLE, *(_CAST + name for name in FP32_CASTS), *_RELAYOUT)
"""The keywords of --fast-math."""


class WrongKeywords(ValueError):
    """Raised for unknown or contradictory keywords of --fast-math."""


def precision_of(fast_math: Sequence[str] = (), fp32_cast: str | None = None) -> Precision:
    """Return the precision selected by --fast-math and --fp32-cast.

    `all`, the default, is `fp32-cast-all fast-relayout`; `none` is `fp32-cast-matmult-bf16
    no-fast-relayout`. A single keyword overrides its half, and `fp32_cast` the cast half. Raises
    WrongKeywords if a keyword is unknown or two contradict each other.
    """
    for word in fast_math:
        if word not in FAST_MATH:
            near = get_close_matches(word, FAST_MATH, 1)
            hint = f"did you mean '{near[0]}'?" if near else "choose from " + ", ".join(FAST_MATH)
            raise WrongKeywords(f"unknown keyword '{word}' ({hint})")
    whole = _only([w for w in fast_math if w in _WHOLE])
    cast = _only([w.removeprefix(_CAST) for w in fast_math if w.startswith(_CAST)], _CAST)
    relayout = _only([w for w in fast_math if w in _RELAYOUT])
    usual_cast, usual_relayout = _WHOLE[whole or "all"]
    found = FP32_CASTS[fp32_cast or cast or usual_cast]
    fast = usual_relayout if relayout is None else _RELAYOUT[relayout]
    return found if fast else Precision(found.auto_cast, found.auto_cast_type)


def _only(words: Sequence[str], prefix: str = "") -> str | None:
    """Return the single word among these, or None."""
    different = list(dict.fromkeys(words))
    if len(different) > 1:
        first, second = (prefix + word for word in different[:2])
        raise WrongKeywords(f"'{first}' and '{second}' exclude each other")
    return different[0] if different else None


@dataclass(frozen=True)
class Rung:
    """One step of a ladder: the options as written, and their precision."""

    options: str
    precision: Precision


def ladder(machine: "_Machine") -> tuple[Rung, ...]:
    """Return the documented precisions of a machine, from the fastest to the most accurate.

    They are those of neuron-cc if its tensor engine does not support fp32, else those of
    neuronx-cc.
    """
    return _NEURONX_CC if multiplies_fp32(machine) else _NEURON_CC


def _fast_math(words: str) -> Rung:
    return Rung(f"--fast-math {words}", precision_of(words.split()))


def _auto_cast(mode: str, cast_type: str) -> Rung:
    return Rung(f"--auto-cast {mode} --auto-cast-type {cast_type}", Precision(mode, cast_type))


_NEURON_CC = (
    _fast_math("all"),
    _fast_math("fp32-cast-matmult"),
    _fast_math("fp32-cast-matmult no-fast-relayout"),
    _fast_math("none"),
)
_NEURONX_CC = (
    *(_auto_cast(m, t) for t in ("bf16", "fp16", "tf32") for m in ("all", "matmult")),
    Rung("--auto-cast none", Precision("none", "bf16")),
)


class _Machine(Protocol):
    @property
    def matmul_dtypes(self) -> frozenset[str]: ...


def multiplies_fp32(machine: _Machine) -> bool:
    """Return whether the tensor engine of a machine supports fp32 operands."""
    return "F32" in machine.matmul_dtypes


def without_fp32(mode: str, cast_type: str) -> tuple[str, str]:
    """Return the meaning of a mode and type on a machine whose tensor engine does not support fp32.

    Without casts, dots are in bf16, as `neuron-cc --fast-math none` defines.
    """
    return (mode, cast_type) if mode != "none" else ("matmult", "bf16")
