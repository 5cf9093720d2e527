"""Parse `compiler_args` of torch_neuron: options of neuron-cc."""

from argparse import Namespace

from neuronir.cli import neuron_cc_args
from neuronir.torch.arguments import Arguments, parsed_words, refuse, split_words


def parse_arguments(given: Arguments) -> Namespace:
    """Return the options of `neuron-cc compile` (NIR_ARG003, NIR_ARG002); the target is inf1."""
    parsed = parsed_words(split_words(given), neuron_cc_args)
    if "SaveTemps" in (parsed.pipeline or ()):
        refuse("pipeline", parsed.pipeline, "use compiler_workdir for the IR of each phase")
    return parsed
