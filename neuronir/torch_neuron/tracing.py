"""`trace`: a model compiled for the NeuronCore of Inf1; what does not compile runs on the host."""

import logging
import warnings
from argparse import Namespace
from collections.abc import Callable, Collection
from typing import Any

import torch

from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.dots import dots
from neuronir.frontends.torch.parts import is_operator
from neuronir.frontends.torch.registry import why_not
from neuronir.frontends.torch.unsupported import operator_name
from neuronir.torch.arguments import Arguments
from neuronir.torch.batching import dynamic_batch
from neuronir.torch.holder import Neuron
from neuronir.torch.partitioning import Assembly, has_state, neuron_part, part_folder
from neuronir.torch.support import kind_of, support
from neuronir.torch.tracing import Trace, examples_of
from neuronir.torch_neuron.arguments import parse_arguments
from neuronir.torch_neuron.nodes import Node, node_of
from neuronir.torch_neuron.optimization import check_optimizations, halved
from neuronir.torch_neuron.segments import (
    Found,
    segments,
    tell_compiled,
    tell_fused,
    tell_unsupported,
    to_host,
)

LOGGER = logging.getLogger("Neuron")
JIT = ("check_inputs", "check_tolerance", "check_trace", "optimize", "strict")
"""Keywords of torch.jit.trace that are accepted without effect, because the export always performs
their checks.
"""


def trace(
    model: Callable[..., Any],
    example_inputs: Any,
    *,
    compiler_args: Arguments = None,
    compiler_timeout: float | None = None,
    compiler_workdir: str | None = None,
    subgraph_builder_function: Callable[[Node], bool] | None = None,
    minimum_segment_size: int = 2,
    single_fusion_ratio_threshold: float = 0.6,
    fallback: bool = True,
    dynamic_batch_size: bool = False,
    optimizations: Collection[Any] = (),
    separate_weights: bool = False,
    **kwargs: Any,
) -> Any:
    """Compile a module or function for Inf1, for the shapes and types of example inputs.

    Returns a ScriptModule as `neuronir.torch.trace` does. Operators that the compiler does not
    support, or that `subgraph_builder_function` returns False for, run in torch on the host, in the
    same ScriptModule; the logger `Neuron` says which. A dot is printed every 20 s.

    Args:
        compiler_args: options of `neuron-cc compile`, as a string or a list.
        compiler_timeout: seconds that the compile of a part may take; it then runs in a process of
            its own.
        compiler_workdir: a folder for the IR, NEFF and report of each part.
        subgraph_builder_function: takes a `Node`, returns whether it may run on the core.
        minimum_segment_size: parts of fewer operators run on the host.
        single_fusion_ratio_threshold: if one part has a larger share of all operators, only that
            part is compiled (1.0: all are).
        fallback: if False, the whole model must compile.
        dynamic_batch_size: make dimension 0 of inputs and results dynamic.
        optimizations: a list of `Optimization`.
        separate_weights: store the weights outside the NEFF.
        kwargs: the keywords in `JIT` have no effect.

    Raises:
        AttributeError: `fallback` is False and an operator is not supported.
        RuntimeError: the parts that were to run on the core do not compile.
        subprocess.TimeoutExpired: a compile took more than `compiler_timeout` seconds.
        ValueError, TypeError: the arguments do not fit each other.
        NeuronError: the model cannot be captured, or its state prevents a partition.
    """
    _check(kwargs, minimum_segment_size, single_fusion_ratio_threshold, compiler_timeout)
    check_optimizations(optimizations)
    arguments = parse_arguments(compiler_args)
    examples = examples_of(example_inputs)
    given = examples
    if optimizations:
        model, examples = halved(model, examples)
    whole = Trace(model, examples, {}, not separate_weights, accepts=given)
    choice = _Choice(
        whole,
        arguments,
        subgraph_builder_function,
        minimum_segment_size,
        single_fusion_ratio_threshold,
        compiler_workdir,
        compiler_timeout,
    )
    with dots():
        made = choice.whole() if not fallback else choice.module()
    if not dynamic_batch_size:
        return made
    if not hasattr(made, "neuron"):
        raise ValueError("dynamic_batch_size needs a model that runs on the core as a whole")
    return dynamic_batch(made)


def _check(kwargs: dict[str, Any], minimum: int, threshold: float, timeout: Any) -> None:
    """Raise ValueError or TypeError for invalid arguments."""
    unknown = sorted(set(kwargs) - set(JIT))
    if unknown:
        raise TypeError(f"trace() got unexpected keyword arguments: {', '.join(unknown)}")
    if minimum < 1:
        raise ValueError(f"minimum_segment_size must be at least 1, is {minimum}")
    if not 0 <= threshold <= 1:
        raise ValueError(f"single_fusion_ratio_threshold must be between 0 and 1, is {threshold}")
    if timeout is not None and timeout <= 0:
        raise ValueError(f"compiler_timeout must be positive, is {timeout}")


class _Choice:
    """One trace: the parts on the core and on the host."""

    def __init__(
        self,
        traced: Trace,
        arguments: Namespace,
        builder: Callable[[Node], bool] | None,
        minimum: int,
        threshold: float,
        workdir: str | None,
        timeout: float | None,
    ) -> None:
        self.traced = traced
        self.program = traced.program
        self.arguments = arguments
        self.builder = builder
        self.minimum = minimum
        self.threshold = threshold
        self.workdir = workdir
        self.timeout = timeout
        self.nodes = [n for n in self.program.graph.nodes if is_operator(n)]

    def whole(self) -> Any:
        """Return the model on the core; raises AttributeError, which names the operators that are
        not supported.
        """
        bad = sorted({kind_of(n) for n in self.nodes if why_not(operator_name(n)) is not None})
        if bad:
            raise AttributeError(f"not supported by Neuron: {', '.join(bad)} (fallback is False)")
        try:
            return self.traced.compiled(self.arguments, self.workdir, self.timeout)
        except NeuronError as error:
            raise AttributeError(f"the model does not compile for Neuron: {error}") from error

    def module(self) -> Any:
        """Return the model, in parts if necessary."""
        chosen = {n: self.builder is None or self.builder(node_of(n)) for n in self.nodes}
        every = all(chosen.values()) and len(self.nodes) >= self.minimum
        if every and all(why_not(operator_name(n)) is None for n in self.nodes):
            try:
                made = self.traced.compiled(self.arguments, self.workdir, self.timeout)
            except NeuronError as error:
                LOGGER.info("the model as a whole does not compile: %s", error.message)
            else:
                found: Found = dict.fromkeys(self.nodes)
                parts = segments(self.program, found, 1, 1.0)
                tell_fused(found)
                tell_compiled(found, found, parts, len(parts))
                return made
        if has_state(self.program):
            raise NeuronError(
                "NIR_TORCH011",
                "a model with state cannot be partitioned, and it does not compile as a whole",
                help="trace it with fallback=False to see why",
            )
        if not self.traced.inline:
            raise ValueError("separate_weights needs a model that runs on the core as a whole")
        asked = support(self.program, self.arguments, wanted=chosen.__getitem__)
        return self.partitioned(dict(asked), {n: asked[n] for n in asked if chosen[n]})

    def partitioned(self, found: Found, asked: Found) -> Any:
        """Return the model in parts; those that do not compile run on the host."""
        tell_unsupported(asked)
        tried = segments(self.program, found, self.minimum, self.threshold)
        tell_fused(found)
        if all(why is not None for why in found.values()):
            LOGGER.warning("No operator is placed on Neuron runtime; returning a CPU trace")
            return self.on_host()
        made: dict[frozenset[Any], Neuron] = {}
        parts = tried
        while True:
            failed = False
            for i, part in enumerate(parts):
                key = frozenset(part.nodes)
                if not part.on_core or key in made:
                    continue
                try:
                    folder = part_folder(self.workdir, i)
                    made[key] = neuron_part(
                        self.program, part, self.arguments, folder, self.timeout
                    )
                except NeuronError as error:
                    LOGGER.warning(
                        "torch.neuron.trace failed on part %d; falling back to native python "
                        "function call: %s",
                        i,
                        error.message,
                    )
                    to_host(found, part, "its part of the graph does not compile")
                    failed = True
            if not failed:
                break
            parts = segments(self.program, found, 1, 1.0)
        tell_compiled(found, asked, tried, sum(part.on_core for part in parts))
        if not any(part.on_core for part in parts):
            raise RuntimeError(
                "No operations were successfully partitioned and compiled to neuron for this "
                "model - aborting trace!"
            )
        kept = {i: made[frozenset(p.nodes)] for i, p in enumerate(parts) if p.on_core}
        whole = self.traced
        return Assembly(self.program, whole.examples, parts, kept, whole.accepts).module()

    def on_host(self) -> Any:
        """Run the model in torch alone."""
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.jit.trace(self.traced.func, self.traced.examples, strict=False)
