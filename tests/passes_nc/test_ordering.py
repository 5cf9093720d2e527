"""The passes from phase `virtual` to phase `ordered` hand on nothing but the module."""

from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from neuronir._xdsl import LocatedParser
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.nc.borders import Borders
from neuronir.passes.nc.peel import AHEAD, TAIL
from neuronir.registry import Registry
from tests.passes_nc.ordering import ordering
from tests.passes_nc.programs import looped, mlp

LIT = Path(__file__).parents[2] / "lit" / "passes" / "nc"


def _programs() -> dict[str, str]:
    names = ("rotate.mlir", "layer-function.mlir", "pipeline-nest.mlir", "reload.mlir")
    texts = {name: (LIT / name).read_text().split("// -----")[0] for name in names}
    return {
        **texts,
        "mlp": str(mlp(3, 4)),
        "loop": str(looped(40)),
        "nest": str(looped(12, outer=3)),
    }


PROGRAMS = _programs()


def _parsed(text: str) -> ModuleOp:
    return LocatedParser(Registry.discover().context(), text, "m.mlir").parse_module()


@pytest.mark.parametrize("unroll", [0, 2000])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_module_that_is_printed_and_parsed_between_passes(name: str, unroll: int) -> None:
    """The result is the same, and each pass alone is checked against its input."""
    at_once, module = _parsed(PROGRAMS[name]), _parsed(PROGRAMS[name])
    for step in ordering(unroll=unroll):
        step.apply(Context(), at_once)
        borders = Borders()
        borders.before(module, [step], 0)
        step.apply(Context(), module)
        borders.check(module)
        module.verify()
        module = _parsed(str(module))
    assert str(module) == str(_parsed(str(at_once)))
    marks = {AHEAD, TAIL}
    assert not any(marks & set(op.attributes) for op in module.walk())


def test_a_wrong_pass_is_found_in_phase_virtual() -> None:
    """A wrong offset in an unrolled iteration, before anything is scheduled."""
    module = _parsed((LIT / "unroll.mlir").read_text())
    step, borders = ordering()[0], Borders()
    borders.before(module, [step], 0)
    step.apply(Context(), module)
    loads = [op for op in module.walk() if isinstance(op, InstructionOp)]
    loads[2].properties["patterns"] = loads[0].properties["patterns"]
    with pytest.raises(NeuronError, match="NIR_NC011"):
        borders.check(module)
