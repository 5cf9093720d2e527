"""`torch.compile(model, backend="neuronir")`: graphs compiled for the simulated core.

TorchDynamo captures graphs, AOTAutograd makes a forward and a backward graph of each, and each of
these is compiled on its own. A graph that does not compile runs in torch; the logger `Neuron` says
why. TorchDynamo finds the backend by the entry point `neuronir` of group `torch_dynamo_backends`.
"""

import copy
import logging
import weakref
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import torch

from neuronir.api import Executable
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.torch.export import decompositions, without_checks
from neuronir.frontends.torch.parts import PartImporter, is_operator
from neuronir.frontends.torch.types import array_of, tensor_of
from neuronir.frontends.torch.unsupported import check_supported
from neuronir.torch.arguments import parse_arguments
from neuronir.torch.compiling import compiled_import

LOGGER = logging.getLogger("Neuron")
NAME = "neuronir"
OPTIONS = ("compiler_args", "compiler_workdir", "fallback")
_number = count()


@dataclass
class Graph:
    """A graph that torch.compile has given to the backend.

    `kind` is `forward`, `backward` or `inference`, `operators` the number of its operators,
    `reason` why it runs in torch (None if it runs on the core), `runs` the number of its calls on
    the core.
    """

    name: str
    kind: str
    operators: int
    reason: str | None = None
    executable: Executable | None = None
    runs: int = 0

    def report(self) -> dict[str, Any]:
        """Return the timing report of a run, with the fields of docs/report.md (ValueError in
        torch).
        """
        if self.executable is None:
            raise ValueError(f"{self.name} runs in torch: {self.reason}")
        return self.executable.report()


_graphs: dict[str, weakref.ref[Graph]] = {}
"""By name, in order. The compiled functions own the graphs."""


def compiled_graphs(*, clear: bool = False) -> list[Graph]:
    """Return the graphs of torch.compile in this process, in order; `clear` forgets them.

    A graph is also forgotten when TorchDynamo drops its compiled function.
    """
    found = [graph for known in list(_graphs.values()) if (graph := known()) is not None]
    if clear:
        _graphs.clear()
    return found


@dataclass
class _Signature:
    """That of a graph whose parameters are inputs like any other."""

    input_specs: list[Any] = field(default_factory=list)


@dataclass
class _Program:
    """A graph as the importer of programs takes it."""

    graph_module: Any
    graph_signature: _Signature = field(default_factory=_Signature)

    @property
    def graph(self) -> Any:
        return self.graph_module.graph

    def __str__(self) -> str:
        return str(self.graph_module.print_readable(print_output=False))


def backend(
    graph_module: Any,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Any:
    """Return the backend `neuronir` of torch.compile.

    `options` may hold `compiler_args` (of neuronx-cc), `compiler_workdir` (a folder with a folder
    for each graph) and `fallback` (default True: graphs that do not compile run in torch; False:
    NeuronError). Raises ValueError for others, and for any `mode` but "default".
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch.nn.attention import SDPBackend, sdpa_kernel

    given = dict(options or {})
    unknown = sorted(set(given) - set(OPTIONS))
    if unknown:
        raise ValueError(
            f"backend '{NAME}' has no option {', '.join(unknown)}; it has {', '.join(OPTIONS)}"
        )
    if mode not in (None, "default"):
        raise ValueError(
            f"backend '{NAME}' has no mode '{mode}'; options={{'compiler_args': '-O3'}} sets the "
            "effort of the compiler"
        )
    arguments = parse_arguments(given.get("compiler_args"))

    def compiler(kind: str) -> Callable[[Any, Any], Any]:
        return lambda module, inputs: _compiled(module, kind, arguments, given)

    lowered = aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        decompositions=decompositions(),
    )
    with sdpa_kernel(SDPBackend.MATH):  # the fused kernels of the CPU have no parts
        return lowered(graph_module, example_inputs)


def _compiled(
    module: Any, kind: str, arguments: Namespace, options: Mapping[str, Any]
) -> Callable[..., Any]:
    """Return a function that runs a graph on the core, or in torch if it does not compile."""
    from torch._functorch.aot_autograd import make_boxed_func

    # A copy, because the graph that runs in torch keeps its assertions on data.
    plain = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    without_checks(_Program(plain))
    name = f"graph{next(_number)}"
    found = Graph(name, kind, sum(map(is_operator, plain.graph.nodes)))
    try:
        run = _on_core(plain, found, arguments, options.get("compiler_workdir"))
    except NeuronError as error:
        if not options.get("fallback", True):
            raise
        found.reason = error.message
        LOGGER.warning("%s (%s) runs in torch: %s", name, kind, error.message)
        run = _in_torch(module, found)
    else:
        LOGGER.info("%s (%s) runs on the core: %d operators", name, kind, found.operators)
    _graphs[name] = weakref.ref(found, lambda gone: _graphs.pop(name, None))
    boxed: Callable[..., Any] = make_boxed_func(run)
    return boxed


def _in_torch(module: Any, found: Graph) -> Callable[..., Any]:
    """Return a function that runs a graph in torch, and owns its description."""

    def run(*tensors: Any, graph: Graph = found) -> Any:
        return module.forward(*tensors)

    return run


def _on_core(
    module: Any, found: Graph, arguments: Namespace, workdir: str | None
) -> Callable[..., Any]:
    """Compile a graph. NeuronError."""
    program = _Program(module)
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    results = next(n for n in module.graph.nodes if n.op == "output").args[0]
    for node in placeholders:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or not all(type(n) is int for n in value.shape):
            raise NeuronError(
                "NIR_IMP001",
                f"the shape of '{node.name}' is not static",
                help="use torch.compile(..., dynamic=False)",
            )
    made = [
        n for n in dict.fromkeys(results) if isinstance(n, torch.fx.Node) and n.op != "placeholder"
    ]
    if not made:
        raise NeuronError("NIR_TORCH002", "the graph computes nothing")
    check_supported(program)
    imported = PartImporter(program, "main").part(
        [n for n in module.graph.nodes if n.op in ("call_function", "get_attr")],
        placeholders,
        made,
    )
    folder = None if workdir is None else str(Path(workdir) / found.name)
    executable = compiled_import(program, imported, arguments, workdir=folder).executable
    found.executable = executable
    types = [n.meta["val"].dtype for n in made]

    def run(*tensors: Any) -> list[Any]:
        found.runs += 1
        arrays = executable(*map(array_of, tensors)).values()
        values = dict(zip(placeholders, tensors, strict=True))
        for node, array, dtype in zip(made, arrays, types, strict=True):
            values[node] = tensor_of(array).to(dtype)
        return [values[n] if isinstance(n, torch.fx.Node) else n for n in results]

    return run
