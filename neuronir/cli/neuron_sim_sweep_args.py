"""The options of `neuron-sim sweep`."""

import argparse

from neuronir.cli.bindings_args import add_bindings
from neuronir.cli.pool_args import add_pool

BATCH = "{batch}"
"""The placeholder in MODEL and in --input-shape that each batch size replaces."""


def add_sweep(p: argparse.ArgumentParser) -> None:
    """Add the options of `neuron-sim sweep`."""
    p.add_argument(
        "model", metavar="MODEL", help=f"model to compile; {BATCH} in its name is the batch size"
    )
    g = p.add_argument_group("grid (comma-separated values)")
    g.add_argument("--batch", default="1", metavar="N,...", help="batch sizes (default: 1)")
    g.add_argument("--auto-cast", default="matmult", metavar="MODE,...", help="none, matmult, all")
    g.add_argument("--auto-cast-type", default="bf16", metavar="TYPE,...", help="as of neuronx-cc")
    g.add_argument("--optlevel", "-O", default="2", metavar="N,...", help="1, 2, 3 (default: 2)")
    g.add_argument("--target", default="trn1", metavar="NAME,...", help="targets (default: trn1)")
    g = p.add_argument_group("model")
    g.add_argument("--framework", metavar="NAME", help="format of MODEL (default: by file name)")
    g.add_argument("--weights", metavar="FILE.npz", help="bind these entry parameters as constants")
    add_bindings(g)
    g = p.add_argument_group("results")
    g.add_argument("--csv", metavar="FILE.csv", help="write all figures as CSV")
    g.add_argument("--report", metavar="FILE.json", help="write all figures as JSON")
    g.add_argument("--html", metavar="FILE.html", help="write a page (needs neuronir[report])")
    g = p.add_argument_group("compile")
    g.add_argument("--cache-dir", "--cache_dir", metavar="DIR", help="folder or URL of the cache")
    g.add_argument("--no-cache", action="store_true", help="compile without the cache")
    add_pool(g)
