"""torch's own samples of every operator: what is imported is right, or refused by name."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from torch.utils import _pytree as pytree  # noqa: E402

from neuronir.dialects.support.errors import NeuronError  # noqa: E402
from tests.frontends.torch.support import difference, imported_results  # noqa: E402

pytestmark = pytest.mark.slow

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
LEAST = 50
"""Cases of a group that have to be right."""


def _places_differ(name: str, ours: Any, values: Any, tensors: list[Any], dim: int) -> str | None:
    """How the places of the largest elements are wrong, None if they are right.

    Each element has the value that torch gives, and none is named twice. Which of equal elements
    is named is not defined.
    """
    places = torch.from_numpy(ours.copy())
    if not torch.equal(torch.gather(tensors[0], dim, places), values):
        return f"{name}: the elements at {ours} are not {values}"
    ordered = places.sort(dim).values if places.ndim else places.reshape(1)
    twice = places.ndim and bool((ordered.diff(dim=dim) == 0).any())
    return f"{name}: {ours} names an element twice" if twice else None


def _cases(group: int) -> Iterator[tuple[str, Callable[..., Any], list[Any], Any]]:
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


@pytest.mark.parametrize("group", range(GROUPS))
def test_right_or_refused(group: int) -> None:
    found: Counter[str] = Counter()
    wrong = []
    for name, function, tensors, dim in _cases(group):
        try:
            expected = pytree.tree_leaves(function(*[t.clone() for t in tensors]))
        except Exception:
            continue  # torch itself does not take the sample
        wanted = [t for t in expected if isinstance(t, torch.Tensor)]
        if not wanted or any(t.is_complex() or t.dtype == torch.float64 for t in wanted):
            continue
        try:
            results = imported_results(function, tensors)
        except NeuronError as error:
            assert error.code in ("NCC_EUOC002", "NCC_ESPP004") or error.code.startswith("NIR_")
            found["refused"] += 1
            continue
        except AssertionError as error:
            wrong.append(f"{name} {[tuple(t.shape) for t in tensors]}: {error}")
            continue
        texts = [difference(o, t) for o, t in zip(results, wanted, strict=True)]
        if name.startswith("topk "):
            texts[1] = _places_differ(name, results[1], wanted[0], tensors, dim)
        if any(texts):
            wrong.append(f"{name} {[tuple(t.shape) for t in tensors]}: {texts}")
        found["right"] += 1
    print(dict(found))
    assert not wrong, "\n".join(wrong)
    assert found["right"] >= LEAST, found
