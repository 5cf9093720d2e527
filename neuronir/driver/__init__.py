"""The compile pipeline from a model to a binary, phase by phase.

Names are imported on first use, because `neuronx-cc --help` and cache hits need no compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuronir.driver.compiler import compile_file, compile_text
    from neuronir.driver.options import CompileOptions
    from neuronir.driver.phases import PHASES
    from neuronir.driver.result import CompiledResult

__all__ = ["PHASES", "CompileOptions", "CompiledResult", "compile_file", "compile_text"]

_MODULES = {
    "PHASES": "phases",
    "CompileOptions": "options",
    "CompiledResult": "result",
    "compile_file": "compiler",
    "compile_text": "compiler",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
