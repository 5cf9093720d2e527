"""Whether the comparison that users trust sees that a compiled model has lost something."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.compare import deviations
from neuronir.dialects.support.compare_noise import compare_with_noise
from neuronir.driver import CompileOptions, compile_text
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run
from neuronir.targets.simulator.noise import perturbed_outputs
from tests.mutations.mutate import KINDS, Mutant, mutants

Array = NDArray[Any]
RELEVANT = 3.0
"""A mutant counts if it changes an output by more than so many times the rounding noise."""


@dataclass(frozen=True)
class Outcome:
    """A mutant, what it changes of the exact results over the noise, and whether it was caught."""

    mutant: Mutant
    change: float
    caught: bool

    @property
    def relevant(self) -> bool:
        """Whether the comparison must see it."""
        return self.change > RELEVANT


class Subject:
    """A model with its arguments, compiled once for the comparison."""

    def __init__(self, text: str, args: Sequence[Array], cast: str = "matmult") -> None:
        self.text, self.args, self.cast = text, list(args), cast
        self.machine: Machine = get_target("trn1").machine
        self.program = self._compiled(text)
        self.exact = self._interpreted(text, self.args)
        self.reference = {f"out{i}": array for i, array in enumerate(self.exact)}
        outputs, self.perturbed = self._run(self.program, self.args)
        self.report = compare_with_noise(outputs, self.reference, self.perturbed)
        self.noise = [
            max(_norm(outputs[i], exact), *(_norm(p[i], outputs[i]) for p in self.perturbed))
            for i, exact in enumerate(self.exact)
        ]

    def outcomes(self, most: int, kinds: Sequence[str] = KINDS) -> list[Outcome]:
        """The mutants of some kinds, at most `most` of each."""
        return [self.outcome(mutant) for mutant in mutants(self.text, self.args, most, kinds)]

    def outcome(self, mutant: Mutant) -> Outcome:
        """Run a mutant in place of the model, and compare with the model's reference."""
        text = mutant.text or self.text
        changed = self._interpreted(text, mutant.args)
        change = max(
            _norm(values, exact) / max(noise, 2.0**-24 * float(np.linalg.norm(exact)), 1e-300)
            for values, exact, noise in zip(changed, self.exact, self.noise, strict=True)
        )
        program = self.program if mutant.text is None else self._compiled(text)
        outputs, perturbed = self._run(program, mutant.args)
        caught = not compare_with_noise(outputs, self.reference, perturbed).ok
        return Outcome(mutant, change, caught)

    def _compiled(self, text: str) -> Program:
        result = compile_text(text, "trn1", CompileOptions(auto_cast=self.cast), name="model.hlo")
        assert result.program is not None
        return result.program

    def _interpreted(self, text: str, args: Sequence[Array]) -> list[Array]:
        with np.errstate(all="ignore"):
            return [np.asarray(x) for x in interpret(import_hlo_text(text, "model.hlo"), args)]

    def _run(
        self, program: Program, args: Sequence[Array]
    ) -> tuple[list[Array], list[list[Array]]]:
        given = sorted(v.index for v in program.variables if v.kind == "input")
        inputs = [args[i] for i in given]
        outputs = run(program, inputs, self.machine).outputs
        return outputs, perturbed_outputs(program, inputs, self.machine, outputs)


def _norm(values: Array, exact: Array) -> float:
    """The Euclidean norm of the difference; infinite where one alone is no number."""
    found = float(np.linalg.norm(deviations(np.asarray(values), np.asarray(exact))))
    return found if np.isfinite(found) else float("inf")
