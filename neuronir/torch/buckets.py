"""Build models with buckets: one ScriptModule with a compiled model for each input shape."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.torch import import_torch
from neuronir.torch.arguments import Arguments, parse_arguments
from neuronir.torch.compiling import compiled_units
from neuronir.torch.holder import Tensors, script
from neuronir.torch.interface import neuron_of, parse_interface
from neuronir.torch.tracing import Trace, examples_of, trace

WORKERS = 2
"""How many buckets are compiled at a time."""


class BucketModelConfig:
    """How the inputs of a call select a bucket.

    Args:
        bucket_kernel: a function without arguments that returns a scripted function; the scripted
            function takes the list of input tensors and returns (tensors that fit a bucket, the
            bucket's index as
            a tensor).
        shared_state_buffer: initial values of the state that all buckets share: one tensor for each
            entry of `input_output_aliases`, in its order.
        shared_state_buffer_preprocessor: a function without arguments that returns a scripted
            function; that one takes (the shapes of the states of each bucket, the shared tensors,
            the index) and returns the states of the bucket. Writes of the model to views of the
            shared tensors persist. By default the states are the shared tensors.
        func_kwargs: keyword arguments of `func` of `bucket_model_trace`: a dictionary, or a list
            with one for each bucket.

    Arguments after the first are keywords; by position they are recognised by their types, with a
    DeprecationWarning. Raises TypeError for any other argument.
    """

    def __init__(
        self,
        bucket_kernel: Callable[..., Any],
        *positional: Any,
        shared_state_buffer: Sequence[Any] | None = None,
        shared_state_buffer_preprocessor: Callable[..., Any] | None = None,
        func_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        if positional:
            text = (
                "BucketModelConfig takes options by keyword only; by position they are deprecated"
            )
            warnings.warn(text, DeprecationWarning, stacklevel=2)
        for value in positional:
            if callable(value):
                shared_state_buffer_preprocessor = value
            elif isinstance(value, Mapping) or _all(value, Mapping):
                func_kwargs = value
            else:
                shared_state_buffer = value
        if not callable(bucket_kernel):
            raise TypeError("bucket_kernel must be a function that returns a scripted function")
        if shared_state_buffer is not None and not _all(shared_state_buffer, torch.Tensor):
            raise TypeError("shared_state_buffer must be a list of tensors")
        if shared_state_buffer_preprocessor is not None and shared_state_buffer is None:
            raise TypeError("shared_state_buffer_preprocessor needs a shared_state_buffer")
        if func_kwargs is not None and not (
            isinstance(func_kwargs, Mapping) or _all(func_kwargs, Mapping)
        ):
            raise TypeError("func_kwargs must be a dictionary or a list of dictionaries")
        self.bucket_kernel = bucket_kernel
        self.shared_state_buffer = shared_state_buffer
        self.shared_state_buffer_preprocessor = shared_state_buffer_preprocessor
        self.func_kwargs = func_kwargs

    def arguments(self, buckets: int) -> list[Mapping[str, Any]]:
        """Return the keyword arguments of `func` for each bucket (ValueError)."""
        if self.func_kwargs is None or isinstance(self.func_kwargs, Mapping):
            return [self.func_kwargs or {}] * buckets
        if len(self.func_kwargs) != buckets:
            raise ValueError(
                f"func_kwargs has {len(self.func_kwargs)} dictionaries for {buckets} buckets"
            )
        return list(self.func_kwargs)


def bucket_model_trace(
    func: Callable[..., Any],
    example_inputs: Sequence[Any],
    bucket_config: BucketModelConfig,
    compiler_workdir: str | None = None,
    compiler_args: Arguments = None,
    *,
    inline_weights_to_neff: bool = True,
    max_workers: int = WORKERS,
) -> Any:
    """Compile a model once for each element of `example_inputs`, as one ScriptModule.

    `func` is called once for each bucket and returns (module or function, input_output_aliases).
    The buckets are compiled by `max_workers` processes at a time; `compiler_workdir` gets a folder
    `bucketN` for each. A call chooses the bucket by `bucket_config`. Without
    `inline_weights_to_neff` the weights are stored beside the NEFFs (`replace_weights`). Raises a
    NeuronError that says what cannot be compiled, and TypeError or ValueError for unsuitable
    arguments.
    """
    arguments = parse_arguments(compiler_args)
    traces = _traces(func, example_inputs, bucket_config, bool(inline_weights_to_neff))
    kernel = _scripted(bucket_config.bucket_kernel, "bucket_kernel")
    preprocessor = bucket_config.shared_state_buffer_preprocessor
    scripted = None
    if preprocessor is not None:
        scripted = _scripted(preprocessor, "shared_state_buffer_preprocessor")
    units = []
    for i, one in enumerate(traces):
        folder = None if compiler_workdir is None else str(Path(compiler_workdir) / f"bucket{i}")
        units.append((one.program, import_torch(one.program, kept=one.kept), folder))
    made = compiled_units(units, arguments, workers=max_workers)
    modules = [one.module(unit) for one, unit in zip(traces, made, strict=True)]
    shared = [t.detach().clone() for t in bucket_config.shared_state_buffer or ()]
    source = _source(traces, modules, len(shared), scripted is not None)
    whole = Bucketed(modules, shared, kernel, scripted)
    whole.__class__ = type("Bucketed", (Bucketed,), {})
    try:
        return script(whole, source)
    except RuntimeError as error:
        raise NeuronError(
            "NIR_TORCH013",
            "the buckets do not fit each other or the bucket kernel: " + _first_line(error),
            help="all buckets must return the same structure of results",
        ) from error


def parallel_model_trace(
    func: Callable[..., Any],
    example_inputs: Any,
    compiler_workdir: str | None = None,
    compiler_args: Arguments = None,
    inline_weights_to_neff: bool = True,
    bucket_config: BucketModelConfig | None = None,
    tp_degree: int = 1,
    max_parallel_compilations: int | None = None,
) -> Any:
    """Implement `neuronx_distributed.parallel_model_trace` for one core; `func` returns (model,
    aliases).

    A model is compiled for one core, so ValueError for a `tp_degree` other than 1.
    """
    if tp_degree != 1:
        raise ValueError(f"tp_degree must be 1, is {tp_degree}: a model is compiled for one core")
    if bucket_config is not None:
        return bucket_model_trace(
            func,
            example_inputs,
            bucket_config,
            compiler_workdir,
            compiler_args,
            inline_weights_to_neff=inline_weights_to_neff,
            max_workers=max_parallel_compilations or WORKERS,
        )
    model, aliases = _called(func, {})
    return trace(
        model,
        example_inputs,
        input_output_aliases=aliases,
        compiler_workdir=compiler_workdir,
        compiler_args=compiler_args,
        inline_weights_to_neff=inline_weights_to_neff,
    )


class Bucketed(nn.Module):  # type: ignore[misc]
    """A model in buckets; its `forward` chooses one."""

    def __init__(
        self, modules: Sequence[Any], shared: Sequence[Any], kernel: Any, preprocessor: Any
    ) -> None:
        super().__init__()
        for i, module in enumerate(modules):
            setattr(self, f"bucket{i}", module)
        self.shared = Tensors({f"s{i}": t for i, t in enumerate(shared)}, parameters=False)
        self.kernel = kernel
        if preprocessor is not None:
            self.preprocess = preprocessor


def _traces(
    func: Callable[..., Any], example_inputs: Sequence[Any], config: BucketModelConfig, inline: bool
) -> list[Trace]:
    """Return the exported model of each bucket."""
    if not isinstance(example_inputs, (list, tuple)) or not example_inputs:
        raise TypeError("example_inputs must be a list with the inputs of each bucket")
    traces = []
    keywords = config.arguments(len(example_inputs))
    for i, (inputs, given) in enumerate(zip(example_inputs, keywords, strict=True)):
        examples = examples_of(inputs)
        if not _all(examples, torch.Tensor):
            raise TypeError(f"example_inputs[{i}] must be a tensor or a tuple of tensors")
        model, aliases = _called(func, given)
        traces.append(Trace(model, examples, aliases, inline))
    counts = {len(one.examples) for one in traces}
    if len(counts) != 1:
        raise ValueError(f"the buckets take different numbers of tensors: {sorted(counts)}")
    if config.shared_state_buffer is not None:
        for i, one in enumerate(traces):
            if len(one.aliases) != len(config.shared_state_buffer):
                raise ValueError(
                    f"bucket {i} has {len(one.aliases)} states (input_output_aliases), "
                    f"shared_state_buffer has {len(config.shared_state_buffer)}"
                )
    return traces


def _called(func: Callable[..., Any], given: Mapping[str, Any]) -> tuple[Any, Mapping[Any, int]]:
    """Return (model, aliases) from `func` (TypeError)."""
    found = func(**given)
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[1], Mapping):
        raise TypeError("func must return a model and a dictionary of input_output_aliases")
    return found


def _scripted(function: Callable[..., Any], what: str) -> Any:
    """Return the scripted function that a function of the configuration returns (TypeError)."""
    found = function()
    if not isinstance(found, torch.jit.ScriptFunction):
        raise TypeError(
            f"{what} must return a scripted function (torch.jit.script), returns a "
            f"{type(found).__name__}"
        )
    return found


def _source(traces: Sequence[Trace], modules: Sequence[Any], shared: int, pre: bool) -> str:
    """Return the methods of the whole module."""
    count = len(traces[0].examples)
    head = "".join(f", x{i}: Tensor" for i in range(count))
    given = ", ".join(f"x{i}" for i in range(count))
    lines = [
        f"def forward(self{head}):\n",
        f"    given: List[Tensor] = [{given}]\n",
        "    padded, index = self.kernel(given)\n",
        f"    bucket = torch.ops.neuron.bucket(padded, index, {len(traces)}, {count})\n",
    ]
    states = [_states(one, module) for one, module in zip(traces, modules, strict=True)]
    if shared:
        listed = ", ".join(f"self.shared.s{i}" for i in range(shared))
        lines.append(f"    held: List[Tensor] = [{listed}]\n")
        if pre:
            shapes = [[shape for _, shape in one] for one in states]
            lines.append(f"    shapes: List[List[List[int]]] = {shapes}\n")
            lines.append("    held = self.preprocess(shapes, held, index)\n")
    padded = ", ".join(f"padded[{i}]" for i in range(count))
    for i in range(len(traces)):
        last = i == len(traces) - 1
        lines.append("    else:\n" if last and i else f"    {'el' * (i > 0)}if bucket == {i}:\n")
        if shared:
            for k, (place, _) in enumerate(states[i]):
                lines.append(f"        self.bucket{i}.{place} = held[{k}]\n")
        lines.append(f"        return self.bucket{i}({padded})\n")
    if len(traces) == 1:
        lines[-1 - shared :] = [line[4:] for line in lines[-1 - shared :]]
        del lines[-2 - shared]
    reports = " + ".join(f"self.bucket{i}.report()" for i in range(len(traces)))
    return "".join(lines) + f"def report(self) -> str:\n    return {reports}\n"


def _states(one: Trace, module: Any) -> list[tuple[str, list[int]]]:
    """Return (attribute path, shape) of each aliased state, in the order of the aliases."""
    interface = parse_interface(neuron_of(module).interface)
    places = dict(interface.held)
    shapes = {s.name: list(s.shape) for s in interface.inputs}
    return [(places[name], shapes[name]) for name in one.aliases]


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, (list, tuple)) and all(isinstance(v, kind) for v in values)
