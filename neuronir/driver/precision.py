"""Precision modes: the keywords of neuron-cc, and what a machine makes of a mode.

Nothing large is imported here: the command lines need it before any compile.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol

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
    """Keywords of --fast-math that are unknown or contradict each other."""


def precision_of(fast_math: Sequence[str] = (), fp32_cast: str | None = None) -> Precision:
    """The precision that --fast-math and --fp32-cast ask for.

    `all`, the default, is `fp32-cast-all fast-relayout`; `none` is `fp32-cast-matmult-bf16
    no-fast-relayout`. A single keyword overrides its half of them, and `fp32_cast` the cast half.
    WrongKeywords where a keyword is unknown or two exclude each other.
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
    """The one word of these, None of none."""
    different = list(dict.fromkeys(words))
    if len(different) > 1:
        first, second = (prefix + word for word in different[:2])
        raise WrongKeywords(f"'{first}' and '{second}' exclude each other")
    return different[0] if different else None


@dataclass(frozen=True)
class Rung:
    """One step of a ladder: the options as they are written, and what they mean."""

    options: str
    precision: Precision


def ladder(machine: "_Machine") -> tuple[Rung, ...]:
    """The documented precisions for a machine, from the fastest to the most accurate: those of
    neuron-cc where its tensor engine takes no fp32, else those of neuronx-cc."""
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
    """Whether the tensor engine of a machine takes fp32 operands (tf32 ones are stored as such)."""
    return "F32" in machine.matmul_dtypes


def without_fp32(mode: str, cast_type: str) -> tuple[str, str]:
    """What a mode and type mean on a machine whose tensor engine takes no fp32: products are in
    bf16 where nothing is to be cast, as `neuron-cc --fast-math none` defines it."""
    return (mode, cast_type) if mode != "none" else ("matmult", "bf16")
