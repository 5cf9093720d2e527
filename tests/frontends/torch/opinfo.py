"""The samples that torch provides for each operator (OpInfo), as functions of tensors.

python -m tests.frontends.torch.opinfo    counts what is imported, and the reasons of refusals
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.torch import import_torch
from neuronir.frontends.torch.export import export

DTYPES = {torch.float32: 3, torch.bfloat16: 1, torch.int64: 1, torch.int32: 1, torch.bool: 1}
"""How many samples of an operator are taken of each dtype."""
OUTSIDE = ("linalg.", "fft.", "signal.", "sparse.", "_refs.", "jiterator")
"""Families that are left to the decompositions: they make programs, not operators."""
FREE = {
    *("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal"),
    *("rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "uniform"),
    *("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"),
    *("nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d"),
    *("nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu"),
    *("argsort", "kthvalue", "sort"),  # the places of equal elements
}
"""Operators whose numbers are random or not defined."""
EXACTER = {"grid_sampler_2d", "nn.functional.grid_sample"}
"""Operators whose places torch computes in bf16 where we take fp32: not compared there."""
LARGEST = 20000
GROUPS = 16


def cases(group: int) -> Iterator[tuple[str, Callable[..., Any], list[Any], Any]]:
    """Return (name and dtype, function, tensors, its argument dim) of each sample in a group."""
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db[group::GROUPS]:
        if op.name in FREE or op.name.startswith(OUTSIDE):
            continue
        for dtype, count in DTYPES.items():
            if dtype not in op.dtypes or (dtype == torch.bfloat16 and op.name in EXACTER):
                continue
            torch.manual_seed(0)
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
            step = max(1, len(samples) // count)
            for sample in samples[::step][:count]:
                leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
                places = [i for i, v in enumerate(leaves) if isinstance(v, torch.Tensor)]
                tensors = [leaves[i].detach() for i in places]
                if all(t.numel() <= LARGEST for t in tensors):
                    function = _function(op.op, leaves, spec, places)
                    dim = sample.kwargs.get("dim", (*sample.args, -1, -1)[1])
                    yield f"{op.name} {dtype}", function, tensors, dim


def _function(op: Any, leaves: list[Any], spec: Any, places: list[int]) -> Callable[..., Any]:
    def call(*tensors: Any) -> Any:
        values = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            values[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(values, spec)
        return op(first, *args, **kwargs)

    return call


def wanted_of(function: Callable[..., Any], tensors: list[Any]) -> list[Any]:
    """Return what torch gives; nothing for a sample that torch refuses or whose type is wide."""
    try:
        expected = pytree.tree_leaves(function(*[t.clone() for t in tensors]))
    except Exception:
        return []  # torch itself does not take the sample
    wanted = [t for t in expected if isinstance(t, torch.Tensor)]
    return [] if any(map(is_wide, wanted)) else wanted


def is_wide(tensor: Any) -> bool:
    """Return whether a NeuronCore lacks the type of a tensor."""
    return bool(tensor.is_complex() or tensor.dtype == torch.float64)


KINDS = (
    ("shapes or branches that depend on data", "depend.* on.* data|data-dep|Python"),
    ("shapes or branches that depend on data", r"aten\.equal|_ctc_loss|unbacked|must be known"),
    ("types that the machine lacks (complex, sparse)", "complex|_to_sparse|ESPP004"),
    ("special functions and polynomials", r"aten\.special_|aten\.igamma|polygamma|polynomial"),
    (
        "factorisations of matrices and solvers",
        r"_?linalg_|lu_unpack|ormqr|geqrf|cholesky|triangular_solve",
    ),
    ("histograms", "hist|bincount"),
)
"""Kinds of refusals, in the order in which they are tried, with patterns of their messages."""


def kind_of(message: str) -> str:
    """Return the kind of a refusal."""
    return next((kind for kind, pattern in KINDS if re.search(pattern, message)), "other operators")


def _refusals() -> Iterator[tuple[str, str]]:
    """Return (sample, code and message) of each refused sample; the latter is empty for the
    others.
    """
    for group in range(GROUPS):
        for name, function, tensors, _ in cases(group):
            if not wanted_of(function, tensors):
                continue
            try:
                import_torch(export(function, tensors))
            except NeuronError as error:
                yield name, f"{error.code} {' '.join(error.message.split())}"
            else:
                yield name, ""


def main() -> None:
    """Print the refused samples, and a table of kinds with the operators."""
    found = list(_refusals())
    refused = [(name, message) for name, message in found if message]
    for name, message in refused:
        print(f"{name}\t{message}", file=sys.stderr)
    print(f"{len(found)} samples, {len(found) - len(refused)} imported, {len(refused)} refused\n")
    print("| reason | samples | operators |\n|---|---|---|")
    kinds = Counter(kind_of(message) for _, message in refused)
    for kind, count in kinds.most_common():
        names = sorted({name.split()[0] for name, message in refused if kind_of(message) == kind})
        print(f"| {kind} | {count} | {', '.join(f'`{name}`' for name in names)} |")


if __name__ == "__main__":
    main()
