"""Represent the result of a compile: its module, and its program if it is complete."""

import os
from collections import Counter
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.diagnostics import Message
from neuronir.dialects.support.output import atomic_write
from neuronir.driver.dumps import ir_text
from neuronir.driver.timer import Timer
from neuronir.passes.statistics import Counts
from neuronir.registry import Registry
from neuronir.targets.encoding.encoding import Encoding, encoding_for
from neuronir.targets.neff.writer import write_neff
from neuronir.targets.registry import TargetLike
from neuronir.version import __version__


@dataclass(frozen=True)
class Unordered:
    """A module at the end of phase `virtual`, and what the passes recorded and said before."""

    module: ModuleOp
    counts: Counts
    messages: tuple[Message, ...]


@dataclass
class CompiledResult:
    """The result of a compile: the module in phase `phase`, and the program if that is `binary`."""

    phase: str
    module: ModuleOp
    target: TargetLike
    registry: Registry
    name: str = "<input>"
    program: Program | None = None
    timer: Timer = field(default_factory=Timer)
    tiled: bool = False
    """Whether the module has been through phase `tiled`."""
    messages: list[Message] = field(default_factory=list)
    """Messages of the compile that are held back until the result is chosen."""
    counts: Counts = field(default_factory=Counter)
    """What the passes of an attempt recorded, which counts if it is chosen."""
    unordered: "Unordered | None" = None
    """What the other orders start from, if only the first one has been tried."""

    @property
    def parts(self) -> "tuple[CompiledResult, ...]":
        """The compiles for single cores that it consists of."""
        return (self,)

    @property
    def encoding(self) -> Encoding:
        """The instruction encoding of the target."""
        return encoding_of(self.target)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the container, or the IR if the compile stopped earlier; the file is written
        atomically.
        """
        with self.timer.step("write"):
            if self.program is not None:
                write_neff(self.program, path, __version__, self.encoding)
            else:
                atomic_write(path, ir_text(self.module, self.registry.context(), self.name))


def encoding_of(target: TargetLike) -> Encoding:
    """Return the instruction encoding of a target: its own, else the one that its machine has."""
    own = getattr(target, "encoding", None)
    return own if isinstance(own, Encoding) else encoding_for(target.machine)
