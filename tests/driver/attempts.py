"""Compiles of a program that fail in some ways, and note what is asked for."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.driver import CompiledResult, CompileOptions, compile_text
from neuronir.driver.pass_runner import RunFailure
from neuronir.driver.too_slow import TooSlow

EXACT = CompileOptions(auto_cast="none")


TURN = """HloModule turn
ENTRY e {
  x = f32[1536,2048] parameter(0)
  y = f32[2048,1536] parameter(1)
  t = f32[2048,1536] transpose(x), dimensions={1,0}
  ROOT r = f32[2048,1536] add(t, y)
}
"""
"""A transpose, which the way from hlo to nc at once does in transfers of few bytes."""


def compiled(text: str, tiling: str) -> CompiledResult:
    """A program for trn1."""
    return compile_text(text, "trn1", replace(EXACT, tiling=tiling))


class Compiles:
    """What `choose_middle` compiles with: fails for some ways, and notes all that are asked for."""

    def __init__(self, failures: Mapping[object, RunFailure | TooSlow]) -> None:
        self.failures = failures
        self.asked: list[object] = []

    def __call__(
        self,
        tiled: bool,
        pipelines: Mapping[str, str] | None = None,
        limit_ns: float = inf,
        first: bool = True,
    ) -> CompiledResult:
        text = pipelines["tiled"] if pipelines else ""
        room = text.split("room=")[1][:2] if "room=" in text else "80"
        way = room if tiled else "direct"
        self.asked.append(way)
        if way in self.failures:
            raise self.failures[way]
        return compiled(TURN, "always" if tiled else "never")


def failure(code: str, *, internal: bool = False) -> RunFailure:
    """A compile that fails with a code."""
    return RunFailure(Diagnostic("error", f"[{code}] no"), internal=internal)


def fails(error: Exception) -> Compiles:
    """Compiles without phase `tiled`, which raises."""

    class Raises(Compiles):
        def __call__(
            self,
            tiled: bool,
            pipelines: Mapping[str, str] | None = None,
            limit_ns: float = inf,
            first: bool = True,
        ) -> Any:
            if tiled:
                raise error
            return super().__call__(tiled, pipelines, limit_ns, first)

    return Raises({})
