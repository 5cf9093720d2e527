"""Read and write reproducers: one file with the IR and the pipeline that fails on it.

The configuration is one comment line, so that the file is plain MLIR for every other tool:

    // neuron-opt-reproducer: {"pipeline": "pass-a,pass-b", "verify_each": true}
"""

import json
import re
from dataclasses import asdict, dataclass, field

from xdsl import __version__ as xdsl_version

from neuronir.dialects.support.errors import NeuronError
from neuronir.version import __version__

_MARK = "// neuron-opt-reproducer: "


@dataclass(frozen=True)
class Configuration:
    """How to run the IR of a reproducer."""

    pipeline: str
    verify_each: bool = True
    allow_unregistered: bool = False
    load: list[str] = field(default_factory=list)


def render(configuration: Configuration, ir: str, message: str) -> str:
    """Return the text of a reproducer file."""
    first = message.splitlines()[0] if message else ""
    return (
        f"// neuronir {__version__}, xdsl {xdsl_version}; "
        "run it with: neuron-opt --run-reproducer FILE\n"
        f"// {first}\n"
        f"{_MARK}{json.dumps(asdict(configuration))}\n{ir}"
    )


def read(text: str) -> Configuration:
    """Return the configuration of a reproducer."""
    match = re.search(rf"^{re.escape(_MARK)}(.*)$", text, re.MULTILINE)
    if match is None:
        raise NeuronError(
            "NIR_REPRODUCER", f"the input is not a reproducer: it has no '{_MARK.strip()}' line"
        )
    try:
        values = json.loads(match[1])
        return Configuration(**values)
    except (TypeError, ValueError) as error:
        raise NeuronError("NIR_REPRODUCER", f"malformed reproducer line: {error}") from error
