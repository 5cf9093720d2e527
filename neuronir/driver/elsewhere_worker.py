"""The process of one job of `elsewhere`.

python -m neuronir.driver.elsewhere_worker FOLDER    compiles the job in a folder
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.diagnostics.stored import to_json
from neuronir.dialects.hlo.resources import hold
from neuronir.dialects.support.diagnostics import handling, printing
from neuronir.dialects.support.dtypes import from_hlo_name, np_dtype
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.compiler import compile_model
from neuronir.driver.module_input import Chunk, parse
from neuronir.driver.options import CompileOptions
from neuronir.driver.pass_runner import RunFailure
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.models import Use
from neuronir.registry import Registry


@dataclass(frozen=True)
class Parsed:
    """A module as a model that the compiler takes."""

    text: str
    name: str
    digest: str
    inputs: Sequence[str]

    def input_names(self, bindings: Bindings) -> list[str]:
        """Return the names of its inputs, in order."""
        return list(self.inputs)

    def operators(self, bindings: Bindings) -> list[Use]:
        """None: the frontend has checked them."""
        return []

    def module(self, bindings: Bindings) -> ModuleOp:
        """Return its hlo module."""
        return parse(Chunk(self.text, self.name, "mlir"), Registry.discover().context())


def main(words: Sequence[str]) -> int:
    """Compile the job in a folder; 1 if the module does not compile."""
    from neuronir.targets.neff.writer import neff_pieces
    from neuronir.version import __version__

    place = Path(words[0])
    found = json.loads((place / "job.json").read_text())
    _read_constants(place / "constants.bin", found["constants"])
    text = (place / "module.mlir").read_text()
    model = Parsed(text, found["name"], found["digest"], found["inputs"])
    try:
        with handling(printing(found["level"])):
            result = compile_model(model, found["target"], CompileOptions(**found["options"]))
    except RunFailure as failure:
        return _fail(place, failure.diagnostic, found["name"], internal=failure.internal)
    except NeuronError as error:
        return _fail(place, Diagnostic.from_error(error), found["name"])
    assert result.program is not None
    with open(place / "graph.neff", "wb") as file:
        file.writelines(neff_pieces(result.program, __version__, result.encoding))
    return 0


def _fail(place: Path, diagnostic: Diagnostic, name: str, *, internal: bool = False) -> int:
    described = {"diagnostic": to_json(diagnostic, name), "internal": internal}
    (place / "error.json").write_text(json.dumps(described))
    return 1


def _read_constants(path: Path, described: dict[str, list[Any]]) -> None:
    """Hold the constants of a job."""
    if not described:
        return
    data = np.memmap(path, np.uint8, "r")
    for key, (kind, shape, start) in described.items():
        dtype = np_dtype(from_hlo_name(kind))
        count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        hold(key, np.asarray(data[start : start + count]).view(dtype).reshape(shape))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
