"""Define the options that bind shapes, inputs and outputs of a model."""

from argparse import Namespace, _ArgumentGroup
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # imported late, because neuron-sim works without frontends
    from neuronir.frontends.bindings import Bindings


def add_bindings(group: _ArgumentGroup) -> None:
    """Add --input-shape and --io-config."""
    group.add_argument(
        "--input-shape",
        action="append",
        default=[],
        metavar="NAME=1x128",
        help="shape of an input, or size of a symbolic dimension",
    )
    group.add_argument(
        "--io-config",
        metavar="JSON",
        help="shapes and types of inputs, and selected outputs, as a file or as JSON text",
    )
    group.add_argument("--signature", metavar="NAME", help="signature of a SavedModel")


def bindings_of(args: Namespace) -> "Bindings":
    """Return the bindings of the options."""
    from neuronir.frontends.bindings import Bindings, merged, parse_io_config, parse_shapes

    given = Bindings(parse_shapes(args.input_shape), signature=args.signature)
    return given if args.io_config is None else merged(given, parse_io_config(args.io_config))
