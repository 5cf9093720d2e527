"""`analyze`: report which operators of a model are supported."""

import logging
import shutil
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

from neuronir.frontends.torch.locations import module_path
from neuronir.frontends.torch.unsupported import place_of
from neuronir.torch.arguments import Arguments, parse_arguments
from neuronir.torch.compiling import exported
from neuronir.torch.support import Failure, kind_of, support
from neuronir.torch.tracing import examples_of
from neuronir.version import __version__

LOGGER = logging.getLogger("Neuron")


def analyze(
    func: Callable[..., Any],
    example_inputs: Any,
    compiler_workdir: str | None = None,
    additional_ignored_ops: Collection[str] = frozenset(),
    max_workers: int = 4,
    is_hf_transformers: bool = False,
    cleanup: bool = False,
    *,
    compiler_args: Arguments = None,
) -> dict[str, Any]:
    """Report which operators of a model the compiler supports, as a dictionary for JSON.

    Each operator is compiled alone, those of one configuration once, by `max_workers` processes.
    Kinds in `additional_ignored_ops` (`aten::add`) do not count. `compiler_workdir` keeps the
    operators' programs, unless `cleanup` is set. `is_hf_transformers` changes nothing here:
    torch.export takes such models as they are.
    """
    program = exported(func, examples_of(example_inputs))
    arguments = parse_arguments(compiler_args)
    found = support(program, arguments, workers=max_workers, workdir=compiler_workdir)
    counted = {n: why for n, why in found.items() if kind_of(n) not in additional_ignored_ops}
    good = Counter(kind_of(n) for n, why in counted.items() if why is None)
    bad = [(n, why) for n, why in counted.items() if why is not None]
    supported: dict[str, dict[str, int]] = {}
    for kind in sorted(good):
        supported.setdefault(kind.partition("::")[0], {})[kind] = good[kind]
    if cleanup and compiler_workdir is not None:
        shutil.rmtree(compiler_workdir, ignore_errors=True)
    percent = 100.0 * sum(good.values()) / len(counted) if counted else 100.0
    LOGGER.info("%.2f%% of %d operators are supported", percent, len(counted))
    return {
        "torch_neuronx_version": __version__,
        "neuronx_cc_version": __version__,
        "support_percentage": f"{percent:.2f}%",
        "supported_operators": supported,
        "unsupported_operators": [_described(n, why) for n, why in bad],
    }


def _described(node: Any, why: Failure) -> dict[str, str]:
    """Return an operator that is not supported."""
    arguments = ", ".join(str(a) for a in node.args)
    return {
        "kind": kind_of(node),
        "failureAt": why.at,
        "why": why.why,
        "call": place_of(node),
        "module": module_path(node),
        "opGraph": f"{node.name} = {node.target}({arguments})",
    }
