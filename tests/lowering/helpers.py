"""Writing one-op programs, and running them on the nc module of the virtual phase."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import stages

Array = NDArray[Any]


def entry(*lines: str) -> str:
    """HLO text of an entry computation; the last line is the root."""
    *body, root = lines
    inner = "\n  ".join([*body, f"ROOT {root}"])
    return f"HloModule m\n\nENTRY e {{\n  {inner}\n}}\n"


def at_hlo(text: str) -> ModuleOp:
    """The module in phase `hlo`, without casts."""
    return compile_text(text, "trn1", CompileOptions(compile_to="hlo", auto_cast="none")).module


def run(text: str, args: Sequence[Array], phase: str = "binary", cast: str = "none") -> list[Array]:
    """The outputs on trn1."""
    with np.errstate(all="ignore"):
        (stage,) = stages(text, args, cast, (phase,))
    return stage.outputs
