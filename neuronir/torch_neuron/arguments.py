"""Parse `compiler_args` of torch_neuron: options of neuron-cc."""

import shlex
from argparse import Namespace

from neuronir.cli.cc_args import with_flags
from neuronir.cli.neuron_cc_args import build_parser, check, normalise, precision, remarks
from neuronir.cli.program import UsageError
from neuronir.dialects.support.errors import NeuronError
from neuronir.torch.compiling import Arguments, refuse_options


def parse_arguments(given: Arguments) -> Namespace:
    """The options of `neuron-cc compile` (NIR_ARG003, NIR_ARG002); the target is inf1."""
    words = shlex.split(given) if isinstance(given, str) else [str(w) for w in given or ()]
    words = ["compile", "model", "--framework", "PYTORCH", *words]
    try:
        words = with_flags(words, lambda given: build_parser().parse_args(normalise(given)))
        parsed = build_parser().parse_args(normalise(words))
        check(parsed)
        parsed.precision = precision(parsed)
    except UsageError as error:
        raise NeuronError("NIR_ARG003", f"compiler_args: {error}") from error
    refuse_options(parsed)
    parsed.remarks = remarks(parsed)
    return parsed
