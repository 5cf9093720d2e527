"""`analyze_model` and `get_supported_operations`: report what can be compiled for Inf1."""

import logging
from typing import Any

from neuronir.frontends.torch.unsupported import importable
from neuronir.torch.arguments import Arguments
from neuronir.torch.compiling import exported
from neuronir.torch.support import kind_of, support
from neuronir.torch.tracing import examples_of
from neuronir.torch_neuron.arguments import parse_arguments

LOGGER = logging.getLogger("Neuron")


def get_supported_operations() -> list[str]:
    """Return the names of the operators that can be imported (`aten::add`), sorted. Whether one
    compiles depends on its types and shapes: `analyze_model` says.
    """
    return sorted({name.partition(".")[0] for name in importable()})


def analyze_model(
    func: Any,
    example_inputs: Any,
    *,
    compiler_workdir: str | None = None,
    compiler_args: Arguments = None,
    max_workers: int = 4,
) -> dict[str, Any]:
    """Compile each operator of a model alone, for Inf1, and report which ones are supported.

    The logger `Neuron` gets the report at level INFO. Returns `supported` and `unsupported`, which
    map each kind of operator (`aten::add`) to its count, and `percent`, the share of operators that
    are supported.
    """
    program = exported(func, examples_of(example_inputs))
    arguments = parse_arguments(compiler_args)
    found = support(program, arguments, workers=max_workers, workdir=compiler_workdir)
    counts: dict[bool, dict[str, int]] = {True: {}, False: {}}
    for node, why in found.items():
        own = counts[why is None]
        own[kind_of(node)] = own.get(kind_of(node), 0) + 1
    for good, text in ((True, "supported"), (False, "not supported")):
        if counts[good]:
            LOGGER.info("The following operations are %s in torch-neuron for this model:", text)
        for kind in sorted(counts[good]):
            LOGGER.info("%s", kind)
    good_ones = sum(counts[True].values())
    percent = 100.0 * good_ones / len(found) if found else 100.0
    LOGGER.info(
        "%.2f%% of arithmetic operations (%d of %d) are supported", percent, good_ones, len(found)
    )
    return {"supported": counts[True], "unsupported": counts[False], "percent": percent}
