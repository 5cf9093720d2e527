"""Define the operators of traced models: torch.ops.neuron.*."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from neuronir.dialects.support.errors import NeuronError
from neuronir.torch.batching import in_chunks
from neuronir.torch.cores import next_core
from neuronir.torch.interface import parse_interface
from neuronir.torch.loaded import check_inputs, loaded

SCHEMAS = (
    "forward(Tensor[] inputs, Tensor neff, str interface, int core, int cores, bool dynamic) "
    "-> Tensor[]",
    "load(Tensor neff, str interface, bool lazy, bool background) -> int[]",
    "report(Tensor neff) -> str",
    "halved(Tensor input, str name) -> Tensor",
    "bucket(Tensor[] padded, Tensor index, int buckets, int inputs) -> int",
)
_LIBRARY: list[Any] = []
_background = ThreadPoolExecutor(1)


def register() -> None:
    """Define the operators, once per process."""
    if _LIBRARY:
        return
    library = torch.library.Library("neuron", "DEF")
    for schema in SCHEMAS:
        library.define(schema)
    library.impl("forward", _forward, "CompositeExplicitAutograd")
    library.impl("forward", _shapes, "Meta")
    library.impl("load", _load, "CompositeExplicitAutograd")
    library.impl("report", _report, "CompositeExplicitAutograd")
    library.impl("halved", _halved, "CompositeExplicitAutograd")
    library.impl("bucket", _bucket, "CompositeExplicitAutograd")
    _LIBRARY.append(library)


def _forward(
    inputs: Sequence[Any], neff: Any, interface: str, core: int, cores: int, dynamic: bool
) -> list[Any]:
    """Run the model on its core."""
    known = parse_interface(interface)
    model = loaded(neff)
    first, number = (core, cores) if core >= 0 else (0, 1)

    def run(tensors: Sequence[Any]) -> list[Any]:
        check_inputs(tensors, known)
        return model.run(tensors, known, model.core(first, number))

    return in_chunks(run, inputs, known) if dynamic else run(inputs)


def _shapes(
    inputs: Sequence[Any], neff: Any, interface: str, core: int, cores: int, dynamic: bool
) -> list[Any]:
    """Return empty results of the right shapes, for torch.export and torch.compile.

    A call with a tensor without data comes here, too (NIR_TORCH015).
    """
    known = parse_interface(interface)
    if neff.device.type == "cpu":
        check_inputs(inputs, known)
    specs = known.outputs
    return [torch.empty(s.shape, dtype=getattr(torch, s.dtype), device="meta") for s in specs]


def _load(neff: Any, interface: str, lazy: bool, background: bool) -> list[int]:
    """Handle torch.jit.load: choose cores, and load now, in a thread, or at the first call."""
    parse_interface(interface)
    first, number = next_core()
    if background:
        _background.submit(loaded, neff)
    elif not lazy:
        loaded(neff)
    return [first, number]


def _report(neff: Any) -> str:
    """Return the summary that neuron-sim prints."""
    from neuronir.targets.simulator.summary import summary_text

    return str(summary_text(loaded(neff).executable.report()))


def _halved(tensor: Any, name: str) -> Any:
    """Convert a float32 tensor to float16; raises NIR_TORCH007 for other types."""
    if tensor.dtype not in (torch.float32, torch.float16):
        raise NeuronError(
            "NIR_TORCH007",
            f"input {name} must be float32 or float16, is "
            + str(tensor.dtype).removeprefix("torch."),
        )
    return tensor.to(torch.float16) if tensor.dtype == torch.float32 else tensor.clone()


def _bucket(padded: Sequence[Any], index: Any, buckets: int, inputs: int) -> int:
    """Return the index from a bucket kernel, checked (NIR_TORCH013)."""
    if index.numel() != 1 or not 0 <= int(index) < buckets:
        raise NeuronError(
            "NIR_TORCH013",
            f"the bucket kernel returned index {index.tolist()}, there are {buckets} buckets",
        )
    if len(padded) != inputs:
        raise NeuronError(
            "NIR_TORCH013",
            f"the bucket kernel returned {len(padded)} tensors, the model takes {inputs}",
            help="the kernel must reject inputs that fit no bucket",
        )
    return int(index)
