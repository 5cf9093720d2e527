"""Select the parts of a model that run on the core, by size and support."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from neuronir.frontends.torch.parts import is_operator
from neuronir.torch.partitioning import Part, parts_of
from neuronir.torch.support import LOWERING, Failure, kind_of

LOGGER = logging.getLogger("Neuron")

Found = dict[Any, Failure | None]


def segments(program: Any, found: Found, minimum: int, threshold: float) -> list[Part]:
    """Return the parts of a model.

    `found` maps each operator to the reason why it runs on the host, or to None. Operators of small
    parts get a reason, too: of parts with fewer operators than `minimum`, and of all parts but the
    largest if the largest has a larger share of all operators than `threshold`.
    """
    while True:
        parts = parts_of(program, found)
        own = [part for part in parts if part.on_core]
        small = [part for part in own if part.size < minimum]
        if not small and len(own) > 1:
            largest = max(own, key=lambda part: part.size)
            if largest.size > threshold * len(found):
                small = [part for part in own if part is not largest]
        if not small:
            return parts
        for part in small:
            to_host(found, part, "its part of the graph is too small")


def to_host(found: Found, part: Part, why: str) -> None:
    """Let the operators of a part run on the host."""
    found.update((n, Failure(LOWERING, why)) for n in part.nodes if is_operator(n))


def tell_unsupported(asked: Mapping[Any, Failure | None]) -> None:
    """Report the operators that do not compile."""
    bad = Counter(kind_of(n) for n, why in asked.items() if why is not None)
    if bad:
        LOGGER.info(
            "There are %d ops of %d different types in the TorchScript that are not compiled by "
            "neuron-cc: %s",
            bad.total(),
            len(bad),
            ", ".join(sorted(bad)),
        )


def tell_fused(found: Found) -> None:
    """Report how many operators are in parts to be compiled."""
    fused = sum(why is None for why in found.values())
    LOGGER.info(
        "Number of arithmetic operators (pre-compilation) before = %d, fused = %d, "
        "percent fused = %s%%",
        len(found),
        fused,
        _percent(fused, len(found)),
    )


def tell_compiled(
    found: Found, asked: Mapping[Any, Failure | None], parts: Sequence[Part], compiled: int
) -> None:
    """Report the compiled parts, and the operators of each kind."""
    total = sum(part.on_core for part in parts)
    good = Counter(kind_of(n) for n, why in found.items() if why is None)
    LOGGER.info(
        "Number of arithmetic operators (post-compilation) before = %d, compiled = %d, "
        "percent compiled = %s%%",
        len(found),
        good.total(),
        _percent(good.total(), len(found)),
    )
    LOGGER.info("The neuron partitioner created %d sub-graphs", total)
    LOGGER.info(
        "Neuron successfully compiled %d sub-graphs, Total fused subgraphs = %d, "
        "Percent of model sub-graphs successfully compiled = %s%%",
        compiled,
        total,
        _percent(compiled, total),
    )
    LOGGER.info("Compiled these operators (and operator counts) to Neuron:")
    for kind in sorted(good):
        LOGGER.info(" => %s: %d", kind, good[kind])
    LOGGER.info("Not compiled operators (and operator counts) to Neuron:")
    bad = Counter(
        (kind_of(n), "not supported" if asked.get(n) is not None else "supported")
        for n, why in found.items()
        if why is not None
    )
    for kind, text in sorted(bad):
        LOGGER.info(" => %s: %d [%s]", kind, bad[kind, text], text)


def _percent(part: int, whole: int) -> float:
    return round(100.0 * part / whole, 2) if whole else 0.0
