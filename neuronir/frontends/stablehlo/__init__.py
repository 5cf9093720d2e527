"""Convert StableHLO text, as JAX prints it, to an hlo module.

The pretty and the generic form are read. The ops become those that the importer of HLO text builds
for the same program: results of an op with several are elements of a tuple, and what a loop or a
branch uses from around it is an operand. Shardings, layouts and donated arguments are not kept, as
no pass reads them.
"""

from xdsl.dialects.builtin import ModuleOp

from neuronir.frontends.stablehlo.importer import Importer
from neuronir.frontends.stablehlo.operators import check_name
from neuronir.frontends.stablehlo.syntax import Syntax


def import_stablehlo(text: str, filename: str = "<input>") -> ModuleOp:
    """Import StableHLO text. NeuronError says what is wrong with it, with line and column."""
    syntax = Syntax(text, filename, check_name)
    return Importer(syntax.module(), syntax).module()
