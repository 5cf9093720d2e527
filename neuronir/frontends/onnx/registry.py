"""Register the operators that can be imported, and the reasons why others cannot."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from neuronir.frontends.onnx.node import Node

Result = SSAValue | Sequence[SSAValue | None]
Function = Callable[[Node], Result]


@dataclass(frozen=True)
class Operator:
    """How an operator is imported from version `since` of its domain on."""

    since: int
    function: Function


OPERATORS: dict[tuple[str, str], list[Operator]] = {}
"""(domain, name) to versions, oldest first. ONNX's own domain is ""."""

REFUSED: dict[tuple[str, str], str] = {}
"""(domain, name) to the reason why an operator cannot be imported."""


def operator(*names: str, since: int = 1, domain: str = "") -> Callable[[Function], Function]:
    """Register the function of operators; it returns one value or one for each output."""

    def register(function: Function) -> Function:
        for name in names:
            versions = OPERATORS.setdefault((domain, name), [])
            versions.append(Operator(since, function))
            versions.sort(key=lambda entry: entry.since)
        return function

    return register


def refused(domain: str, name: str) -> str | None:
    """Return why an operator is always refused, or None."""
    return REFUSED.get((domain, name))


def find(domain: str, name: str, version: int) -> Function | None:
    """Return the function of an operator in a version of its domain."""
    found = None
    for entry in OPERATORS.get((domain, name), ()):
        if entry.since <= version:
            found = entry.function
    return found


def plain_domain(domain: str) -> str:
    """Normalise the domain: `ai.onnx` is another spelling of the empty domain."""
    return "" if domain == "ai.onnx" else domain
