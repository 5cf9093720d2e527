"""The warnings of neuron-cc about operators of a model that is refused, one for each operator."""

import re
from collections.abc import Iterator, Sequence

_HEAD = re.compile(r"\[\w+\] \d+ (operators?|operations?) (is|are) not supported\b")
_LINE = re.compile(r"\s*(?:\[\w+\] )?(?:hlo\.)?(?P<name>[\w.:]+)")
_KINDS = (
    ("convolution size", re.compile("conv", re.IGNORECASE)),
    ("upsampling", re.compile("resize|upsampl|grid_?sample|image_?scaler", re.IGNORECASE)),
    ("layout", re.compile("transpose|reshape|(depth|space|batch)_?to_?", re.IGNORECASE)),
)


def warnings_of_refusal(text: str) -> Iterator[str]:
    """Yield a warning for each line of an error that lists unsupported operators.

    Convolutions, upsampling and changes of layout are named as such. Other errors have none.
    """
    head, *lines = text.splitlines()
    if _HEAD.match(head):
        yield from (f"unsupported {kind_of(line)}: {line.strip()}" for line in lines)


def kind_of(line: str) -> str:
    """Return what is not supported: an operator, or one of the kinds that neuron-cc names."""
    name = name_of(line)
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), "operator")


def name_of(line: str) -> str:
    """Return the operator that a line begins with."""
    found = _LINE.match(line)
    return found["name"] if found else ""


def names_of(lines: Sequence[str]) -> str:
    """Return the operators of lines, quoted and separated by commas."""
    return ", ".join(f"'{name_of(line)}'" for line in lines)
