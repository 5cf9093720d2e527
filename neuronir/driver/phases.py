"""The phases of a compile, and the passes that lead from each to the next."""

from collections.abc import Mapping

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.pipelines import to_target
from neuronir.targets.registry import TargetLike

PHASES = ("parsed", "hlo", "virtual", "ordered", "allocated", "synchronised", "binary")

_PASSES = {
    "virtual": (
        "hlo-tile-batch,hlo-tile-rows,hlo-split-batch,hlo-split-attention,hlo-assign-layouts,"
        "hlo-choose-blocks,lower-hlo-to-nc,nc-dce,nc-forward-psum,nc-balance-evictions"
    ),
    "ordered": "nc-order",
    "allocated": "nc-spill,nc-assign-banks,nc-allocate,nc-split-transfers,nc-order-triggers",
    "synchronised": "nc-synchronise",
}

# How far ahead the scheduler looks. What it finds grows with it for most programs, but not for
# all; so level 3 tries every one.
_ORDER_OPTIONS = {1: ("{window=64}",), 2: ("",), 3: ("", "{window=1536}", "{window=64}")}


NARROW = (
    "hlo-inline,hlo-fold-conditional,hlo-unroll-while{mode=unroll},hlo-constant-fold,hlo-dce,"
    "hlo-narrow-int64"
)
"""What comes first in phase `hlo` where 64-bit integers are to be computed in 32 bits: what
follows from constants (such as the counts of loops) is computed in 64 bits still."""


def pipeline_of(
    target: TargetLike,
    phase: str,
    cast: str,
    cast_type: str,
    optlevel: int,
    narrow: bool = False,
) -> str:
    """The pass string that makes `phase` from the phase before it, empty where there is none.

    A target's own pipelines, by phase name, come first; `hlo-auto-cast` without options in them
    takes the precision that the user chose.
    """
    if phase in ("parsed", "binary"):
        return ""
    text = target.pipelines.get(phase)
    if phase == "hlo":
        if text is None:
            text = to_target(
                target.name,
                auto_cast=cast,
                cast_type=cast_type,
                gathers=target.machine.gather_in_dma,
                integers=target.machine.has_pool,
            )
        else:
            text = _with_precision(text, cast, cast_type)
        return f"{NARROW},{text}" if narrow else text
    if text is None:
        text = orders_of(target, optlevel)[0] if phase == "ordered" else _PASSES[phase]
    return _with_precision(text, cast, cast_type)


def orders_of(target: TargetLike, optlevel: int) -> tuple[str, ...]:
    """The pass strings that phase `ordered` may be made by; the first one is the usual."""
    text = target.pipelines.get("ordered")
    if text is not None:
        return (text,)
    return tuple(_PASSES["ordered"] + options for options in _ORDER_OPTIONS[optlevel])


def _with_precision(text: str, cast: str, cast_type: str) -> str:
    option = f"hlo-auto-cast{{mode={cast} type={cast_type}}}"
    return ",".join(option if name == "hlo-auto-cast" else name for name in text.split(","))


def phase_number(phase: str, option: str) -> int:
    """The place of a phase; NIR_DRV001 where there is none of that name."""
    if phase not in PHASES:
        raise NeuronError(
            "NIR_DRV001",
            f"{option}: there is no phase '{phase}'",
            help=f"phases: {', '.join(PHASES)}",
        )
    return PHASES.index(phase)


def pipelines_of(target: TargetLike) -> Mapping[str, str]:
    """All phases with their default pass strings."""
    return {phase: pipeline_of(target, phase, "matmult", "bf16", 2) for phase in PHASES}
