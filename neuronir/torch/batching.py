"""Run batches of any size on a model traced for one size."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from neuronir.dialects.support.errors import NeuronError
from neuronir.torch.interface import Interface, neuron_of, parse_interface

Run = Callable[[Sequence[Any]], list[Any]]


def dynamic_batch(neuron_script: Any) -> Any:
    """Let a traced model take any size of dimension 0, in place: ceil(n / size) calls, the last one
    padded. Raises ValueError if the inputs or results have no common dimension 0.
    """
    interface = parse_interface(neuron_of(neuron_script).interface)
    if any(place.startswith("states.") for _, place in interface.held):
        raise ValueError("a model with state cannot be split into batches: each part changes it")
    sizes = {s.shape[:1] for s in (*interface.given, *interface.outputs)}
    if len(sizes) != 1 or () in sizes:
        listed = ", ".join(f"'{s.name}' {s}" for s in (*interface.given, *interface.outputs))
        raise ValueError(f"dimension 0 must be the batch in all inputs and results: {listed}")
    neuron_of(neuron_script).dynamic = True
    return neuron_script


def in_chunks(run: Run, inputs: Sequence[Any], interface: Interface) -> list[Any]:
    """Run in parts of the size that the model was traced for (NIR_TORCH008)."""
    count = len(interface.given)
    given, held = list(inputs[:count]), list(inputs[count:])
    batch = _batch_of(given, interface)
    size = interface.given[0].shape[0]
    parts = []
    for start in range(0, batch, size):
        chunk = [t[start : start + size] for t in given]
        short = size - chunk[0].shape[0]
        if short:
            chunk = [torch.cat([t, t.new_zeros((short, *t.shape[1:]))]) for t in chunk]
        results = run([*chunk, *held])
        parts.append([r[: size - short] for r in results])
    if not parts:
        specs = interface.outputs
        return [torch.empty((0, *s.shape[1:]), dtype=getattr(torch, s.dtype)) for s in specs]
    return [torch.cat(column) for column in zip(*parts, strict=True)]


def _batch_of(given: Sequence[Any], interface: Interface) -> int:
    """Return the size of dimension 0 of all inputs."""
    sizes = []
    for i, (tensor, spec) in enumerate(zip(given, interface.given, strict=True)):
        if tuple(tensor.shape[1:]) != spec.shape[1:] or tensor.ndim != len(spec.shape):
            raise NeuronError(
                "NIR_TORCH008",
                f"ValueError: input {i} ('{spec.name}') must be {spec} but for dimension 0, "
                f"is {list(tensor.shape)}",
            )
        sizes.append(int(tensor.shape[0]))
    if len(set(sizes)) != 1:
        raise NeuronError("NIR_TORCH008", f"ValueError: the inputs have different batches: {sizes}")
    return sizes[0]
