"""The process of one job of `elsewhere`.

python -m neuronir.driver.elsewhere_worker FOLDER    compiles the job in a folder
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.diagnostics.stored import to_json
from neuronir.dialects.support.diagnostics import handling, printing, recording
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.job import read_packed, unpack
from neuronir.driver.pass_runner import RunFailure


def main(words: Sequence[str]) -> int:
    """Compile the job in a folder; 1 if the module does not compile."""
    from neuronir.targets.neff.writer import neff_pieces
    from neuronir.version import __version__

    place = Path(words[0])
    heard: list[tuple[int, str]] = []
    name = ""
    try:
        job = unpack(read_packed(place))
        name = job.name
        with handling(recording(heard, printing(job.level))):
            result = job.compile()
    except RunFailure as failure:
        return _fail(place, failure.diagnostic, name, internal=failure.internal)
    except NeuronError as error:
        return _fail(place, Diagnostic.from_error(error), name)
    assert result.program is not None
    with open(place / "graph.neff", "wb") as file:
        file.writelines(neff_pieces(result.program, __version__, result.encoding))
    (place / "messages.json").write_text(json.dumps(heard))
    return 0


def _fail(place: Path, diagnostic: Diagnostic, name: str, *, internal: bool = False) -> int:
    described = {"diagnostic": to_json(diagnostic, name), "internal": internal}
    (place / "error.json").write_text(json.dumps(described))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
