"""Define the output format `hlo`: `neuron-opt -t hlo`."""

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from neuronir.frontends.hlo_text.printer import print_hlo_text


@dataclass(frozen=True)
class HLOTextTarget(Target):
    """Writes the module as HLO text."""

    name = "hlo"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the text."""
        output.write(print_hlo_text(module))
