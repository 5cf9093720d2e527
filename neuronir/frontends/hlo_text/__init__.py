"""Convert HLO text to an hlo module, and back."""

import gc

from xdsl.dialects.builtin import ModuleOp

from neuronir.frontends.hlo_text.importer import Importer
from neuronir.frontends.hlo_text.syntax import parse_text


def import_hlo_text(text: str, filename: str = "<input>") -> ModuleOp:
    """Import HLO text as printed by XLA.

    Any error in the text raises a NeuronError with file, line, column and an excerpt with a caret.
    """
    # A module is many small live objects, so garbage collection during the import only costs time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return Importer(parse_text(text, filename), text, filename).module()
    finally:
        if collecting:
            gc.enable()
