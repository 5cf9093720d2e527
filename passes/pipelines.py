"""The named pipelines over hlo, as pass specifications that `neuron-opt -p` takes."""

SIMPLIFY = (
    "hlo-inline,hlo-fold-conditional,hlo-unroll-while,hlo-canonicalize,hlo-constant-fold,"
    "hlo-canonicalize,hlo-cse,hlo-dce"
)
"""One straight-line function (and loops), small, without calls, tuples in between or dead code."""

PIPELINES: dict[str, str] = {
    "hlo-simplify": SIMPLIFY,
}
"""Pipeline name to pass specification."""
