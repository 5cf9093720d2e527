"""The compile pipeline from a model to a binary, phase by phase."""

from neuronir.driver.compiler import CompiledResult, compile_file, compile_text
from neuronir.driver.options import CompileOptions
from neuronir.driver.phases import PHASES

__all__ = ["PHASES", "CompileOptions", "CompiledResult", "compile_file", "compile_text"]
