"""Define the options of a compile."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from neuronir.dialects.support.npz import Array
from neuronir.driver.dumper import Watcher
from neuronir.driver.phases import PHASES
from neuronir.driver.precision import EXACT
from neuronir.frontends.bindings import Bindings

if TYPE_CHECKING:
    from neuronir.driver.user_passes import UserPasses

TILINGS = ("auto", "always", "never")
"""Whether a program goes through phase `tiled`."""

Progress = Callable[[str], AbstractContextManager[object]]


def no_progress(phase: str) -> AbstractContextManager[object]:
    """Report nothing while a phase runs."""
    return nullcontext()


@dataclass(frozen=True)
class CompileOptions:
    """Options of a compile.

    `auto_cast`, `auto_cast_type` and `relayout` are the options of hlo-auto-cast. `weights` are
    arrays by parameter name (`argN` or the HLO parameter's name); they become constants.
    `compile_from` is the phase of the input, `compile_to` the phase after which to stop.
    `dump_phases_to` is a folder for the IR after each phase. `bindings` are shapes of inputs that a
    model does not define, `framework` its kind if the file's name does not tell. With
    `narrow_integers` 64-bit integers are computed in 32 bits, which is the default (None) for
    models of frameworks whose indices always have 64, and not for HLO. `tiling` says whether the
    program goes through phase `tiled`: "auto" (if that is faster), "always" or "never". `progress`
    is a context manager for each phase, called with its name. `reproducers` are written if a pass
    fails because of a compiler bug. `watch` returns the observer of a phase's passes, given the
    name of the phase; if there are several attempts, only the one that is kept is observed.
    `user_passes` run after phases of the compile, on each attempt.
    """

    auto_cast: str = "matmult"
    auto_cast_type: str = "bf16"
    relayout: str = EXACT
    optlevel: int = 2
    weights: Mapping[str, Array] = field(default_factory=dict)
    compile_from: str = PHASES[0]
    compile_to: str = PHASES[-1]
    dump_phases_to: str | None = None
    bindings: Bindings = Bindings()
    framework: str | None = None
    narrow_integers: bool | None = None
    tiling: str = TILINGS[0]
    progress: Progress = no_progress
    reproducers: bool = True
    watch: Callable[[str], Watcher] | None = None
    user_passes: "UserPasses | None" = None

    def text(self) -> str:
        """Return the options that affect the result, in canonical spelling."""
        cast = self.auto_cast if self.auto_cast == "none" else self.precision
        if self.relayout != EXACT:
            cast += f" (transposes: {self.relayout})"
        tiling = "" if self.tiling == TILINGS[0] else f" --tiling {self.tiling}"
        passes = "" if self.user_passes is None else self.user_passes.text()
        return f"--auto-cast {cast} -O{self.optlevel}{tiling}{passes}"

    @property
    def precision(self) -> str:
        """Return `none`, or `matmult:bf16` and the like."""
        return "none" if self.auto_cast == "none" else f"{self.auto_cast}:{self.auto_cast_type}"
