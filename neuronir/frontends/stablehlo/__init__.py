"""Convert StableHLO text, as JAX prints it, to an hlo module.

The pretty and the generic form are read. The importer builds the same ops as the importer of HLO
text does for the same program. An op with several results returns a tuple, and a value that a loop
or a branch uses from outside becomes an operand. Shardings, layouts and donated arguments are
dropped, because no pass reads them.
"""

from xdsl.dialects.builtin import ModuleOp

from neuronir.frontends.stablehlo.importer import Importer
from neuronir.frontends.stablehlo.operators import check_name
from neuronir.frontends.stablehlo.syntax import Syntax


def import_stablehlo(text: str, filename: str = "<input>") -> ModuleOp:
    """Import StableHLO text. Raises a NeuronError that says what is wrong with it, with line and
    column.
    """
    syntax = Syntax(text, filename, check_name)
    return Importer(syntax.module(), syntax).module()
