"""The options for the workers of many jobs."""

from argparse import _ArgumentGroup

from neuronir.cli.values import count


def add_pool(g: _ArgumentGroup, retries: str = "1") -> None:
    """Add the options for the workers that compile several models; the default of each is None.

    `retries` describes the default of --retries.
    """
    g.add_argument(
        "--jobs",
        "--num-parallel-jobs",
        type=count(1),
        metavar="N",
        help="number of worker processes (default: the number of cores); 1: this process",
    )
    g.add_argument(
        "--retries",
        type=count(0),
        metavar="N",
        help=f"further attempts at a model whose worker ended (default: {retries})",
    )
    g.add_argument(
        "--memory-limit", metavar="SIZE", help="memory of each worker, such as 2G (default: none)"
    )
    g.add_argument(
        "--scheduler",
        action="append",
        metavar="ADDRESS",
        help="use the workers of this Dask cluster; may be repeated",
    )
