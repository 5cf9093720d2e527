"""Lines that are like earlier ones: the same records, modules and errors as the grammar gives."""

import io
import random
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from neuronir._xdsl import print_module
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.frontends.hlo_text.importer import Importer
from neuronir.frontends.hlo_text.syntax import HloText, parse_text
from tests.corpus import CORPUS
from tests.hlo_text.test_fuzz import damaged, sources

FILES = sorted((CORPUS / "hlo").glob("**/*.hlo"))

HEAD = (
    "HloModule m\n\nENTRY main {\n  a.1 = f32[2]{0} parameter(0)\n  b.1 = f32[2]{0} parameter(1)\n"
)
TWICE = f"{HEAD}  add.1 = f32[2]{{0}} add(a.1, b.1)\n  mul.1 = f32[2]{{0}} multiply(a.1, b.1)\n"


def tokens(record: HloText) -> list[object]:
    """All that the grammar found in a text."""
    return [
        (c.name, c.is_entry, [(t.type, str(t), t.line, t.column) for t in instruction.tokens])
        for c in record.computations
        for instruction in c.instructions
    ]


def ir(module: ModuleOp) -> str:
    """The text of a module, with the place of each op."""
    stream = io.StringIO()
    print_module(module, stream, elide_above=4, debuginfo=True)
    return stream.getvalue()


def outcome(text: str, *, alike: bool) -> str:
    """What importing a text gives: the module, or the error with its place."""
    try:
        return ir(Importer(parse_text(text, "m.hlo", alike=alike), text, "m.hlo").module())
    except NeuronError as error:
        return f"{error}\n{error.excerpt}\n{error.help}"


def known(text: str) -> int:
    """How many instructions are in lines like earlier ones."""
    record = parse_text(text, "m.hlo")
    return sum(i.form is not None for c in record.computations for i in c.instructions)


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.stem}" for p in FILES])
def test_the_grammar_finds_the_same(path: Path) -> None:
    text = path.read_text()
    assert tokens(parse_text(text, "m.hlo")) == tokens(parse_text(text, "m.hlo", alike=False))


@pytest.mark.parametrize("name", ["core/hf_bert_tiny", "core/hf_gpt2_tiny_train_adamw"])
def test_modules_are_the_same(name: str) -> None:
    path = CORPUS / "hlo" / f"{name}.hlo"
    text = path.read_text()
    assert known(text) > len(text.splitlines()) // 3
    assert outcome(text, alike=True) == outcome(text, alike=False)


def test_damaged_text_fails_in_the_same_way() -> None:
    rng, programs = random.Random(3), sources()
    for _ in range(120):
        text = damaged(rng.choice(programs), rng)
        assert outcome(text, alike=True) == outcome(text, alike=False)


@pytest.mark.parametrize(
    "line",
    [
        "add.2 = f32[2]{0} add(mul.1, add.1)",
        "ROOT add.2 = f32[2]{0} add(mul.1, add.1)",
        "add.2 = f32[2]{0} add(mul.1, c.1)",
        "add.2 = f32[2]{0} add(mul.1, add.1) // said",
        "add.2 = f32[2]{0} add(mul.1, /*add.1*/ add.1)",
        "add.2 = f32[2]{0} add(mul.1,",
        "add.2 = f32[2]{0} add(mul.1, add.1), frontend_attributes={x=\"add.1\"}",
        "%add.2 = f32[2]{0} add(%mul.1, %add.1)",
        "add.1 = f32[2]{0} add(mul.1, add.1)",
        "a.2 = f32[2]{0} parameter(7)",
        "add.2 = f32[2]{0} add.3(mul.1, add.1)",
        "add.2 = f32[2]{0} add(mul.1)",
        "add.2 = f32[3]{0} add(mul.1, add.1)",
        "add.2 = f32[2]{0} add(mul.1, add.1) mul.2 = f32[2]{0} add(mul.1, add.1)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["}\n", "ROOT neg.1 = f32[2]{0} negate(add.1)\n}\n"])
def test_lines_that_are_nearly_alike(line: str, end: str) -> None:
    text = f"{TWICE}  {line}\n  {line.replace('add.2', 'add.5')}\n{end}"
    assert outcome(text, alike=True) == outcome(text, alike=False)


def test_what_is_known_is_a_line_with_other_names_or_parameter_number() -> None:
    assert known(f"{HEAD}}}\n") == 0  # the second is read before the first is over
    assert known(f"{TWICE}  add.2 = f32[2]{{0}} add(mul.1, mul.1)\n}}\n") == 1
    assert known(f"{TWICE}  add.2 = f32[2]{{0}} add(mul.1, add)\n}}\n") == 0
    assert known(f"{TWICE}  add.2 = f32[2] add(mul.1, mul.1)\n}}\n") == 0
    assert known(f"{TWICE}  c.1 = f32[2]{{0}} parameter(2)\n}}\n") == 1


def test_an_attribute_in_the_next_line_belongs_to_a_known_line() -> None:
    line = '  add.2 = f32[2]{0} add(a.1, b.1)\n    , backend_config="x"\n'
    text = f"{TWICE}{line}{line.replace('add.2', 'add.3')}}}\n"
    assert outcome(text, alike=True) == outcome(text, alike=False)
    assert "hlo.backend_config" in outcome(text, alike=True)


def test_an_error_in_a_known_line_has_its_place() -> None:
    text = f"{TWICE}  add.2 = f32[2]{{0}} add(mul.1, nowhere.1)\n}}\n"
    assert known(text) == 1
    with pytest.raises(NeuronError) as info:
        import_hlo_text(text, "m.hlo")
    assert str(info.value.location) == "m.hlo:8:32"
    assert info.value.code == "NIR_HLO004"
