"""Every HLO file of the corpus: import, verify, print, import again; XLA takes what is printed."""

import io
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.printer import Printer

from neuronir.dialects.hlo import HLO
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.frontends.hlo_text.printer import print_hlo_text
from tests.corpus import CORPUS

FILES = sorted((CORPUS / "hlo").glob("**/*.hlo"))
IDS = [f"{path.parent.name}/{path.stem}" for path in FILES]


def test_there_is_a_corpus() -> None:
    """Without the corpus the tests below do not exist."""
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_round_trip(path: Path) -> None:
    """import(print(import(x))) is import(x), and XLA parses the printed text."""
    module = import_hlo_text(path.read_text(), path.name)
    module.verify()
    printed = print_hlo_text(module)
    again = import_hlo_text(printed, path.name)
    assert module.is_structurally_equivalent(again)
    hlo = pytest.importorskip("jaxlib._hlo", reason="XLA (jaxlib) is absent")
    hlo.hlo_module_from_text(printed)


@pytest.mark.parametrize("name", ["ops/reduce_zoo", "ops/cond_switch", "optimised/mlp.opt"])
def test_mlir_round_trip(name: str) -> None:
    """The MLIR text of an imported module reads back as the same module."""
    path = CORPUS / "hlo" / f"{name}.hlo"
    module = import_hlo_text(path.read_text(), path.name)
    stream = io.StringIO()
    Printer(stream).print_op(module)
    context = Context()
    for dialect in (Builtin, Func, HLO):
        context.load_dialect(dialect)
    assert Parser(context, stream.getvalue()).parse_module().is_structurally_equivalent(module)
