"""Damaged StableHLO text is read, or refused by a code; it never ends in another exception."""

import random
import re
from functools import cache
from pathlib import Path

import pytest
from xdsl.utils.exceptions import VerifyException

from neuronir.frontends.stablehlo import import_stablehlo
from tests.frontends.mutation import survives
from tests.frontends.stablehlo.test_corpus import CORPUS, converted

NAMES = (
    *("ops/while_newton", "ops/cond_switch", "ops/sort_topk", "ops/conv_zoo", "ops/linalg"),
    *("ops/scatter_add_max", "ops/fft_ops", "ops/rng_bit_generator", "ops/dot_zoo", "core/mlp"),
    "parallel/spmd_collectives",
)
LIT = Path(__file__).resolve().parents[3] / "lit" / "frontends" / "stablehlo"
TOKEN = re.compile(r'"[^"]*"|%[\w#]+|[a-zA-Z_@#][\w.]*|-?[\d.]+|->|\S')
ODD = (
    *("0", "-1", "7", "4000", "123456789012345678901", "1.5", "0x7F", "true", "unit", "x", "é"),
    *("[]", "{}", "<", ">", "(", ")", '"', "%", "#", "@", "?", "dense<1>", "loc(", "\x00"),
    *("tensor<f32>", "tensor<?xf32>", "tuple<>", "func.func", "builtin.module", "^bb0"),
)
SEEDS = 40
EACH = 25


@cache
def texts() -> list[str]:
    found = [converted((CORPUS / f"{name}.hlo").read_text()) for name in NAMES]
    return found + [path.read_text() for path in sorted(LIT.glob("[co]*.mlir"))]


def like(token: str) -> str:
    """The class of a token, within which tokens are swapped."""
    if re.fullmatch(r"-?\d[\d.]*", token):
        return "number"
    return token[:6] if token[:6] in ("tensor", "stable") else token[:1]


def damaged(text: str, rng: random.Random) -> str:
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        spans = [match.span() for match in TOKEN.finditer(text)]
        start, end = rng.choice(spans)
        token = text[start:end]
        same = [s for s in rng.sample(spans, min(300, len(spans))) if text[s[0] : s[1]] != token]
        same = [s for s in same if like(text[s[0] : s[1]]) == like(token)]
        other = rng.choice(same or spans)
        kind = rng.randrange(9)
        if kind == 0:
            text = text[:start]
        elif kind == 1:
            text = text[:start] + text[end:]
        elif kind == 2:
            text = text[:end] + " " + token + text[end:]
        elif kind < 5:
            text = text[:start] + rng.choice(ODD) + text[end:]
        else:
            text = text[:start] + text[other[0] : other[1]] + text[end:]
    return text


def read(text: str) -> None:
    module = import_stablehlo(text, "f.mlir")
    try:
        module.verify()
    except VerifyException:
        pass  # the programs verify what they have read, and say where it is wrong


@pytest.mark.parametrize("seed", range(SEEDS))
def test_damaged_text(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(EACH):
        text = damaged(rng.choice(texts()), rng)
        survives(lambda text=text: read(text))  # type: ignore[misc]
