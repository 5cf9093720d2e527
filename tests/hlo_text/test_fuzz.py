"""HLO text that was damaged word by word: an error with a code, never a crash or a hang."""

import random
import re
from functools import partial

import pytest
from xdsl.utils.exceptions import VerifyException

from neuronir.frontends.hlo_text import import_hlo_text
from tests.corpus import CORPUS, operators
from tests.frontends.mutation import survives

_WORD = re.compile(r"[A-Za-z_][\w.\-]*|-?\d+|[{}()\[\],=]")
_NUMBERS = ("0", "-1", "1", "99999999999999999999", "4294967296", "7", "2147483647")
_WORDS = ("f32", "s32", "pred", "c64", "add", "{}", "f32[]", "parameter", "ROOT", "?", "é")


def sources() -> list[str]:
    """Small programs of the corpus."""
    paths = sorted((CORPUS / "hlo").rglob("*.hlo"))
    found = [p.read_text() for p in paths if p.stat().st_size < 12_000]
    return found + [operators.text_of(name) for name in operators.names()[::4]]


def damaged(text: str, rng: random.Random) -> str:
    """A text in which words, numbers or lines changed."""
    for _ in range(rng.randint(1, 3)):
        lines, words = text.split("\n"), list(_WORD.finditer(text))
        word = rng.choice(words)
        match rng.randrange(6):
            case 0:
                lines.insert(rng.randrange(len(lines)), rng.choice(lines))
                text = "\n".join(lines)
            case 1:
                del lines[rng.randrange(len(lines))]
                text = "\n".join(lines)
            case 2:
                numbers = [w for w in words if w.group().isdigit()] or words
                word = rng.choice(numbers)
                text = text[: word.start()] + rng.choice(_NUMBERS) + text[word.end() :]
            case 3:
                text = text[: word.start()] + rng.choice(_WORDS) + text[word.end() :]
            case 4:
                text = text[: rng.randrange(len(text))] + text[rng.randrange(len(text)) :]
            case _:
                text = text[: word.start()] + rng.choice(words).group() + text[word.end() :]
        if not _WORD.search(text):
            break
    return text


def read(text: str) -> None:
    try:
        import_hlo_text(text).verify()
    except VerifyException:
        pass  # told by the driver, with the instruction


def survive(count: int, seed: int) -> None:
    rng, programs = random.Random(seed), sources()
    for _ in range(count):
        survives(partial(read, damaged(rng.choice(programs), rng)))


def test_damaged_text() -> None:
    survive(400, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_much_damaged_text(seed: int) -> None:
    survive(6_000, seed)
