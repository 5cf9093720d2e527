"""nc-forward-psum keeps the copies that their readers need, and leaves nothing behind then."""

from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from neuronir._xdsl import LocatedParser
from neuronir.passes.nc.forward import NcForwardPsumPass
from neuronir.registry import Registry

LIT = Path(__file__).parents[2] / "lit" / "passes" / "nc" / "forward-psum.mlir"


def _forwarded(text: str) -> ModuleOp:
    context = Registry.discover().context()
    module = LocatedParser(context, text[text.index("builtin.module") :], "m").parse_module()
    NcForwardPsumPass().apply(Context(), module)
    return module


def _copies(module: ModuleOp) -> int:
    return sum(op.name == "nc.tensor_copy" for op in module.walk())


def test_a_copy_of_a_bank_that_is_overwritten_stays() -> None:
    """A later product takes the bank while the copy still has readers."""
    text = LIT.read_text()
    assert _copies(_forwarded(text)) == 0
    matmul = next(line for line in text.splitlines() if "nc.matmul (%p[" in line)
    copy = next(line for line in text.splitlines() if "nc.tensor_copy (%s[" in line)
    assert _copies(_forwarded(text.replace(copy, f"{copy}\n{matmul}"))) == 1


def test_a_refused_copy_has_no_readers_outside_of_the_program() -> None:
    """Of the program one copy stays, because GpSimd reads it."""
    module = _forwarded(LIT.read_text())
    inside = set(module.walk())
    uses = [use for op in inside for result in op.results for use in result.uses]
    assert uses
    assert all(use.operation in inside for use in uses)
