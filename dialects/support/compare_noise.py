"""Compare results with a reference by the statistics of the rounding noise.

`compare` bounds the worst element of any correct execution. In mixed precision this bound is so
wide that a missing parameter passes. This module uses the noise measured for the given inputs: the
outputs of some runs with perturbed roundings (targets/simulator/noise.py). An output passes if the
noise explains the Euclidean norm of its error and the quantiles of its elements' errors.
docs/numerics.md derives the factors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.support.compare import (
    UNIT_ROUNDOFF,
    OutputReport,
    Report,
    compare,
    default_tolerance,
    deviations,
    reference_values,
    step_of,
)

Array = NDArray[Any]

# How far the measured noise may be below the true noise: roundings are assumed independent.
_MODEL = 2.0
# The error norm of a correct program is at most this many standard deviations above its mean.
_DEVIATIONS = 4.0
# Of the bulk of the errors; norm and maximum cover the tail, of which there are few samples.
_QUANTILES = (0.5, 0.75, 0.9)
# With fewer elements, quantiles are as uncertain as single errors.
_ENOUGH = 256
# Elements of similar size that share an estimate of their noise.
_WINDOW = 64


def noise_factor(elements: int) -> float:
    """Return the allowed ratio of error to measured noise for an output of `elements` elements.

    The norm of n independent normal errors, over its root mean square, has a standard deviation of
    1 / sqrt(2 n).
    """
    return _MODEL * (1.0 + _DEVIATIONS / float(np.sqrt(2.0 * max(elements, 1))))


def compare_with_noise(
    results: Sequence[Array],
    reference: Mapping[str, Array],
    perturbed: Sequence[Sequence[Array]],
    plain: Sequence[Array] | None = None,
) -> Report:
    """Compare results with out{i}, or with stat{i} and head{i}, of a reference file.

    `perturbed` are the outputs of runs with perturbed roundings, and `plain` those of the same run
    without (by default `results`). The error of fp32 arithmetic, `default_tolerance("fp32")`, is
    allowed in addition to their noise. Integers and pred must be equal, NaN and infinities must
    match.
    """
    floor = default_tolerance("fp32")
    noises = [
        _Noise(np.asarray(result), np.asarray(center), [np.asarray(run[i]) for run in perturbed])
        for i, (result, center) in enumerate(zip(results, plain or results, strict=True))
    ]
    report = compare(results, reference, rtol=floor, atol=[n.largest for n in noises])
    if len(report.outputs) != len(results):
        return report
    judged = [
        noise.judge(found, reference, floor)
        for found, noise in zip(report.outputs, noises, strict=True)
    ]
    return Report(tuple(judged))


class _Noise:
    """The noise of one output, from the perturbed runs."""

    def __init__(self, result: Array, plain: Array, perturbed: Sequence[Array]) -> None:
        self._result = result
        self._changes = [deviations(run, plain).reshape(-1) for run in perturbed]
        self._factor = noise_factor(result.size)
        worst = [change.max(initial=0.0) for change in self._changes]
        # A run that returns infinity or NaN instead of a finite value is ignored.
        self.largest = self._factor * float(max((w for w in worst if np.isfinite(w)), default=0.0))

    def judge(
        self, found: OutputReport, reference: Mapping[str, Array], floor: float
    ) -> OutputReport:
        """Judge `found`, which matches element by element, by norm and quantiles too."""
        if not found.compared or self._result.dtype.kind in "biu":
            return found
        expected = reference_values(reference, found.index).reshape(-1)
        result = self._result.reshape(-1)[: expected.size]
        runs = [change[: expected.size] for change in self._changes]
        runs = [run for run in runs if np.isfinite(run).all()]
        size = deviations(expected[np.isfinite(expected)], np.zeros(1, expected.dtype))
        norm = float(np.linalg.norm(size)) or 1.0
        noise = float(np.sqrt(np.mean([np.vdot(r, r) for r in runs]))) / norm if runs else 0.0
        allowed = self._factor * noise + floor
        reason = found.reason
        if found.ok and not found.norm_rel <= allowed:
            reason = "the norm of the error is more than rounding explains"
        elif found.ok and runs and result.size >= _ENOUGH:
            errors, pooled = deviations(result, expected), np.concatenate(runs)
            rounding = _single_roundings(runs, expected)
            least = max(floor, step_of(result.dtype)) * float(size.max(initial=0.0))
            for share in _QUANTILES:
                change = max(np.quantile(pooled, share), np.quantile(rounding, share))
                limit = self._factor * float(change) + least
                if not float(np.quantile(errors, share)) <= limit:
                    reason = f"{100 * (1 - share):.0f} % of the errors are over {limit:.3g}"
                    break
        ok = found.ok and reason == found.reason
        shown = noise if runs else None
        return replace(found, ok=ok, noise_rel=shown, norm_allowed=allowed, reason=reason)


def _single_roundings(runs: Sequence[Array], expected: Array) -> Array:
    """Return the error that a rounding to bf16 explains, of each element in order of size.

    A perturbed rounding moves one value in twelve, by a whole step. Most changes are therefore 0 if
    each element is rounded only once or twice, as an updated parameter. The error is at most the
    root mean square change of elements of similar size.
    """
    size = deviations(expected, np.zeros(1, expected.dtype))
    order = np.argsort(size, kind="stable")
    squares = np.mean([np.square(run[order]) for run in runs], axis=0)
    windows = np.array_split(squares, max(1, squares.size // _WINDOW))
    changes = [np.full(window.size, np.sqrt(window.mean())) for window in windows]
    return np.asarray(np.minimum(np.concatenate(changes), UNIT_ROUNDOFF["bf16"] * size[order]))
