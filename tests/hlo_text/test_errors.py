"""Mistakes in HLO text: code, place, caret."""

import random

import pytest
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.support.errors import NeuronError, SourceLocation
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.frontends.hlo_text.printer import print_hlo_text
from tests.corpus import CORPUS

HEAD = "HloModule m\n\nENTRY main {\n  a = f32[2]{0} parameter(0)\n"


def failure(text: str) -> NeuronError:
    """The error that importing a text raises."""
    with pytest.raises(NeuronError) as info:
        import_hlo_text(text, "m.hlo")
    return info.value


def body_failure(line: str) -> NeuronError:
    """The error of a module whose root is this instruction, on line 5."""
    return failure(f"{HEAD}  ROOT {line}\n}}\n")


@pytest.mark.parametrize(
    ("line", "code", "column", "message"),
    [
        ("b = f32[2] add(a, a", "NIR_HLO001", 22, "operands in balanced parentheses"),
        ("b f32[2] add(a, a)", "NIR_HLO001", 10, "expected `=`"),
        ("b = f32[2] add(a, c)", "NIR_HLO004", 26, "operand 'c' is not defined"),
        ("b = f32[2] frob(a)", "NIR_HLO003", 19, "unknown opcode 'frob'"),
        ("b = f32[<=2] negate(a)", "NCC_EMOD025", 12, "instruction 'b': dynamic shape f32[<=2]"),
        ("b = f32[?] negate(a)", "NCC_EMOD025", 12, "dynamic shape f32[?]"),
        ("b = f32[2] set-dimension-size(a, a)", "NCC_EMOD025", 19, "dynamic shape"),
        ("b = f32[2] ragged-dot(a, a)", "NCC_EUOC002", 19, "unsupported operator ragged-dot"),
        ("b = q7[2] negate(a)", "NCC_ESPP004", 12, "data type 'q7' is not supported"),
        ("b = f32[x] negate(a)", "NIR_HLO002", 12, "malformed shape"),
        ("b = f32[2]{1} negate(a)", "NIR_HLO002", 12, "does not order the dimensions"),
        ("b = f32[2] negate(f32[3] a)", "NIR_HLO011", 33, "shape f32[3] but has type"),
        ("b = f32[2] negate(a, a)", "NIR_HLO010", 25, "takes 1 operands, 2 given"),
        ("b = f32[2] negate(a), foo=1", "NIR_HLO007", 30, "unexpected attribute 'foo'"),
        ("b = f32[2] transpose(a)", "NIR_HLO007", 3, "needs the attribute for permutation"),
        ("b = f32[2] slice(a), slice={[0:x]}", "NIR_HLO007", 29, "malformed value of attribute"),
        ("b = f32[] reduce(a, a), dimensions={0}, to_apply=r", "NIR_HLO004", 3, "'r' is not"),
        ("b = f32[] reduce(a, a), dimensions={0}", "NIR_HLO007", 3, "needs to_apply"),
        ("b = f32[2] constant({1, z})", "NIR_HLO008", 27, "malformed number"),
        ("b = f32[2] constant({...})", "NIR_HLO009", 27, "elided"),
        ("b = f32[99999999999999999999] constant({1})", "NIR_HLO002", 12, "too large"),
        ("a = f32[2] negate(a)", "NIR_HLO005", 3, "defined twice"),
    ],
)
def test_instruction_errors(line: str, code: str, column: int, message: str) -> None:
    """Each mistake has a code, a place and a message; the caret is under the place."""
    error = body_failure(line)
    assert error.code == code, error.render()
    assert message in error.message
    assert error.location == SourceLocation("m.hlo", 5, column), error.render()
    assert error.excerpt is not None
    source, caret = error.excerpt.split("\n")
    assert source.strip() == f"ROOT {line}"
    assert caret.index("^") == column - 1 + 4


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "NIR_HLO001", "expected `HloModule <name>`"),
        ("module {}", "NIR_HLO001", "expected `HloModule <name>`"),
        ("HloModule m\n", "NIR_HLO001", "unexpected end of the text"),
        (HEAD, "NIR_HLO001", "unexpected end of the text"),
        (HEAD + "}\n" + HEAD[13:] + "}\n", "NIR_HLO005", "'main' is defined twice"),
        ("HloModule m\nENTRY e {\n}\n", "NIR_HLO006", "is empty"),
        (
            "HloModule m\nENTRY e {\n  a = f32[] parameter(1)\n}\n",
            "NIR_HLO006",
            "none is parameter(0)",
        ),
        (
            "HloModule m\nf {\n  p = f32[] parameter(0)\n  ROOT m = f32[] map(p), to_apply=f\n}\n",
            "NIR_HLO006",
            "calls itself",
        ),
        (
            HEAD + "  ROOT b = f32[2] negate(a)\n  ROOT c = f32[2] negate(a)\n}\n",
            "NIR_HLO006",
            "more than one ROOT",
        ),
    ],
)
def test_module_errors(text: str, code: str, message: str) -> None:
    """Mistakes of a module as a whole."""
    error = failure(text)
    assert error.code == code, error.render()
    assert message in error.message


def test_any_damage_is_a_user_error() -> None:
    """However a text is damaged, it imports or is a NeuronError, never a traceback."""
    source = (CORPUS / "hlo" / "ops" / "reduce_zoo.hlo").read_text()
    draw = random.Random(0)
    for _ in range(400):
        text = source
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(text))
            kind = draw.random()
            if kind < 0.4:
                text = text[:at] + text[at + draw.randint(1, 8) :]
            elif kind < 0.7:
                text = text[:at] + draw.choice('{}()[],=%"x0-9\\ \n?<é') + text[at:]
            else:
                other = draw.randrange(len(text))
                text = text[:at] + text[other : other + 20] + text[at:]
        try:
            module = import_hlo_text(text)
            module.verify()
            print_hlo_text(module)
        except NeuronError as error:
            assert error.render()
        except VerifyException as error:
            assert str(error)
