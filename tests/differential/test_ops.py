"""Single operators of the corpus on trn1: what compiles is right, the rest is refused by code."""

import re

import numpy as np
import pytest

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import numbered
from tests.corpus import CORPUS, operators, program_args, program_reference
from tests.differential.stages import failures

ZOOS = ("elementwise_zoo", "int_zoo", "shape_zoo", "reduce_zoo", "cumulative_ops")
ELEMENTWISE = (
    "abs add and atan2 cbrt ceil clamp cos div eq erf exp expm1 floor ge gt integer is le log "
    "log1p logistic lt max min mul ne neg nextafter not or population pow reduce_precision rem "
    "round rsqrt select_n shift sign sin sinh sqrt square sub tan tanh xor"
).split()
DATA_MOVEMENT = (
    "bitcast broadcast concatenate convert dynamic gather iota pad rev transpose".split()
)
"""Families that must compile but for the types that the machine does not have."""
OTHERS = "argmax conv dot reduce reduce_window scatter sort squeeze top while".split()
_TYPES = re.compile(r"complex|int64|float64|float8|int4|int2")
UNSTABLE = re.compile(r"sort_multiple_arrays_.*isstable_False")
REFUSED = re.compile(r"(NCC|NIR)(_[A-Z]+)+\d*")
WIDE = {"int64": "int32", "uint64": "uint32", "float64": "float32"}


@pytest.mark.parametrize("name", ZOOS)
def test_zoos_compile_and_are_right(name: str) -> None:
    path = CORPUS / "hlo" / "ops" / f"{name}.hlo"
    wrong = failures(path.read_text(), program_args(path), "none", program_reference(path))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "name",
    ("conv_zoo", "dot_zoo", "scatter_add_max", "sort_topk", "fft_ops", "linalg", "while_newton")
    + ("cond_switch", "rng_bit_generator"),
)
def test_other_zoos_are_right_or_refused(name: str) -> None:
    path = CORPUS / "hlo" / "ops" / f"{name}.hlo"
    try:
        wrong = failures(path.read_text(), program_args(path), "none", program_reference(path))
    except NeuronError as error:
        assert REFUSED.fullmatch(error.code) and error.code != "NIR_SIM001"
        return
    assert not wrong, "\n".join(wrong)


def _programs(family: str, step: int) -> list[str]:
    return [n for n in operators.names() if re.match(f"{family}(_|$)", n)][::step]


def _outcome(name: str, narrow: bool = False) -> str | None:
    """None where a program is right; a text where it is wrong; NeuronError passes."""
    text, entries = operators.text_of(name), operators.entries_of(name)
    args = numbered(entries, "arg")
    if narrow:  # the same program on 32-bit types, with the interpreter as reference
        for old, new in (("s64[", "s32["), ("u64[", "u32["), ("f64[", "f32[")):
            text = text.replace(old, new)
        args = [a.astype(WIDE.get(a.dtype.name, a.dtype)) for a in args]
    # XLA's order of equal keys is any; ours and the interpreter's is that of a stable sort.
    reference = None if narrow or UNSTABLE.search(name) else entries
    with np.errstate(all="ignore"):
        wrong = failures(text, args, "none", reference, ("virtual", "binary"))
    return f"{name}: {wrong[0]}" if wrong else None


@pytest.mark.parametrize("family", [*ELEMENTWISE, *DATA_MOVEMENT])
@pytest.mark.thin(3)
def test_operators_of_jax_compile_and_are_right(family: str) -> None:
    names = [n for n in _programs(family, 2) if not _TYPES.search(n)]
    problems: list[str] = []
    for name in names:
        try:
            problem = _outcome(name, narrow=family in ("gather", "dynamic"))
        except NeuronError as error:
            problem = f"{name}: {error}"
        problems += [problem] if problem else []
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("family", OTHERS)
@pytest.mark.thin(3)
def test_other_operators_of_jax_are_right_or_refused(family: str) -> None:
    problems: list[str] = []
    for name in _programs(family, 12 if family == "scatter" else 3):
        try:
            problem = _outcome(name, narrow=family == "scatter")
        except NeuronError as error:
            assert error.code != "NIR_SIM001" and REFUSED.fullmatch(error.code), f"{name}: {error}"
            continue
        problems += [problem] if problem else []
    assert not problems, "\n".join(problems)
