"""nc-forward-psum leaves nothing behind where it refuses."""

from pathlib import Path

from xdsl.context import Context

from neuronir._xdsl import LocatedParser
from neuronir.passes.nc.forward import NcForwardPsumPass
from neuronir.registry import Registry

LIT = Path(__file__).parents[2] / "lit" / "passes" / "nc" / "forward-psum.mlir"


def test_a_refused_copy_has_no_readers_outside_of_the_program() -> None:
    """Of the program one copy stays, because GpSimd reads it."""
    text = LIT.read_text()
    context = Registry.discover().context()
    module = LocatedParser(context, text[text.index("builtin.module") :], "m").parse_module()
    NcForwardPsumPass().apply(Context(), module)
    inside = set(module.walk())
    uses = [use for op in inside for result in op.results for use in result.uses]
    assert uses
    assert all(use.operation in inside for use in uses)
