"""Define the phases of a compile, and the passes between them."""

from collections.abc import Mapping

from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.precision import EXACT, multiplies_fp32, without_fp32
from neuronir.passes.pipelines import ORDERED, UNROLL_ALL, to_target
from neuronir.targets.registry import TargetLike, legality_for

PHASES = ("parsed", "hlo", "tiled", "virtual", "ordered", "allocated", "synchronised", "binary")
"""The phases in order; `tiled` is skipped on the direct path from hlo to nc."""

_TO_NC = "nc-dce,nc-sum-in-psum,nc-forward-psum,nc-hold-in-psum,nc-balance-evictions"
TO_TILED = "tile-expand-composites,tile-split-softmax,tile-pad-axes,tile-fuse,tile-assign-layouts"
"""The passes from phase `hlo` to phase `tiled`."""
FROM_TILED = f"lower-tile-to-nc,{_TO_NC}"
"""The passes from phase `tiled` to phase `virtual`."""
_PASSES = {
    "tiled": TO_TILED,
    "virtual": (
        f"{UNROLL_ALL},hlo-tile-batch,hlo-tile-rows,hlo-split-batch,hlo-split-attention,"
        f"hlo-split-hidden,hlo-assign-layouts,hlo-choose-blocks,lower-hlo-to-nc,{_TO_NC}"
    ),
    "ordered": ORDERED,
    "allocated": (
        "nc-spill,nc-assign-banks,nc-allocate,nc-split-transfers,nc-order-triggers,nc-assign-queues"
    ),
    "synchronised": "nc-synchronise",
}

# The windows of the scheduler (0: its default). A larger window helps most programs, but not all,
# so level 3 tries every one.
_WINDOWS = {1: (64,), 2: (0,), 3: (0, 1536, 64)}
_WITH_WINDOW = frozenset(("nc-rotate", "nc-prefetch", "nc-schedule"))

_TILED_ENGINES = {"PE", "ACT", "DVE"}
"""Engines that the instructions of phase `tiled` use on every machine."""

NARROW = (
    "hlo-inline,hlo-fold-conditional,hlo-unroll-while{mode=unroll},hlo-constant-fold,hlo-dce,"
    "hlo-narrow-int64"
)
"""The first passes of phase `hlo` if 64-bit integers are computed in 32 bits. Values that follow
from constants (such as trip counts) are still computed in 64 bits.
"""


def pipeline_of(
    target: TargetLike,
    phase: str,
    cast: str,
    cast_type: str,
    optlevel: int,
    narrow: bool = False,
    tiled: bool = False,
    relayout: str = EXACT,
) -> str:
    """Return the pass string that leads to `phase`; empty if there is none.

    A target's own pipelines, by phase name, have priority. In them, `hlo-auto-cast` without options
    gets the user's precision. With `tiled`, the phase before `virtual` is `tiled`, else it is
    `hlo`.
    """
    if phase in ("parsed", "binary"):
        return ""
    if not multiplies_fp32(target.machine):
        cast, cast_type = without_fp32(cast, cast_type)
    if tiled and phase == "virtual":
        return FROM_TILED
    text = target.pipelines.get(phase)
    if phase == "hlo":
        if text is None:
            table = legality_for(target)
            text = to_target(
                target.name,
                auto_cast=cast,
                cast_type=cast_type,
                relayout=relayout,
                gathers=table.addresses,
                integers=table.integers,
                scans=table.scans,
                loops=table.loops,
            )
        else:
            text = _with_precision(text, cast, cast_type, relayout)
        return f"{NARROW},{text}" if narrow else text
    if text is None:
        text = orders_of(target, optlevel)[0] if phase == "ordered" else _PASSES[phase]
    return _with_precision(text, cast, cast_type, relayout)


def orders_of(target: TargetLike, optlevel: int) -> tuple[str, ...]:
    """Return the candidate pass strings of phase `ordered`; the first one is the default."""
    text = target.pipelines.get("ordered")
    if text is not None:
        return (text,)
    return tuple(_ordered(window) for window in _WINDOWS[optlevel])


def _ordered(window: int) -> str:
    """Return the passes of phase `ordered` with a window."""
    option = f"{{window={window}}}" if window else ""
    names = ORDERED.split(",")
    return ",".join(name + (option if name in _WITH_WINDOW else "") for name in names)


def _with_precision(text: str, cast: str, cast_type: str, relayout: str) -> str:
    turned = "" if relayout == EXACT else f" relayout={relayout}"
    option = f"hlo-auto-cast{{mode={cast} type={cast_type}{turned}}}"
    return ",".join(option if name == "hlo-auto-cast" else name for name in text.split(","))


def phase_number(phase: str, option: str) -> int:
    """Return the position of a phase; raises NIR_DRV001 for an unknown one."""
    if phase not in PHASES:
        raise NeuronError(
            "NIR_DRV001",
            f"{option}: there is no phase '{phase}'",
            help=f"phases: {', '.join(PHASES)}",
        )
    return PHASES.index(phase)


def pipelines_of(target: TargetLike) -> Mapping[str, str]:
    """Return the default pass string of each phase, by name.

    `default` is all of them without phase `tiled`, `tiling` all of them with it, and
    `tiled-virtual` leads from `tiled` to `virtual`.
    """

    def whole(tiled: bool) -> dict[str, str]:
        phases = phases_between(PHASES[0], PHASES[-1], tiled=tiled)
        found = {p: pipeline_of(target, p, "matmult", "bf16", 2, tiled=tiled) for p in phases}
        return {phase: text for phase, text in found.items() if text}

    usual = whole(False)
    named = {"default": ",".join(usual.values()), **usual}
    if can_tile(target):
        tiled = whole(True)
        named["tiled"], named["tiled-virtual"] = tiled["tiled"], tiled["virtual"]
        named["tiling"] = ",".join(tiled.values())
    return named


def can_tile(target: TargetLike) -> bool:
    """Return whether phase `tiled` supports a machine.

    It must have engines PE, ACT and DVE, and the target must not define its own pipeline to phase
    `virtual`.
    """
    return _TILED_ENGINES <= target.machine.engines and "virtual" not in target.pipelines


def phases_between(first: str, last: str, *, tiled: bool) -> tuple[str, ...]:
    """Return the phases after `first` up to `last`, with or without `tiled`."""
    found = PHASES[PHASES.index(first) + 1 : PHASES.index(last) + 1]
    return tuple(phase for phase in found if tiled or phase != "tiled")
