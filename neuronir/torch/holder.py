"""Define the TorchScript module of a trace, which holds the NEFF, separate weights and the
state.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Dict, List, Tuple  # noqa: UP035  (TorchScript reads these names)

import torch
from torch import Tensor, nn

from neuronir.torch.calls import Script
from neuronir.torch.operators import register

register()  # TorchScript looks up the operators when it compiles the class


class Neuron(nn.Module):  # type: ignore[misc]
    """The compiled model. Loading it (torch.jit.load) puts it on a core."""

    def __init__(self, neff: Any, interface: str, core: int, cores: int) -> None:
        super().__init__()
        self.register_buffer("neff", neff)
        self.interface = interface
        self.core = core
        self.cores = cores
        self.dynamic = False
        self.lazy = False
        self.background = False

    @torch.jit.export  # type: ignore[untyped-decorator]
    def __getstate__(self) -> Tuple[Tensor, str, bool, bool, bool, bool]:  # noqa: UP006
        """Return the state to save."""
        options = (self.dynamic, self.lazy, self.background, self.training)
        return (self.neff, self.interface, options[0], options[1], options[2], options[3])

    @torch.jit.export  # type: ignore[untyped-decorator]
    def __setstate__(self, state: Tuple[Tensor, str, bool, bool, bool, bool]) -> None:  # noqa: UP006
        """Restore the saved state."""
        self.neff = state[0]
        self.interface = state[1]
        self.dynamic = state[2]
        self.lazy = state[3]
        self.background = state[4]
        self.training = state[5]
        place = torch.ops.neuron.load(self.neff, self.interface, self.lazy, self.background)
        self.core = place[0]
        self.cores = place[1]

    @torch.jit.export  # type: ignore[untyped-decorator]
    def report(self) -> str:
        """Return the timing report as neuron-sim prints it."""
        return torch.ops.neuron.report(self.neff)  # type: ignore[no-any-return]

    def forward(self, inputs: List[Tensor]) -> List[Tensor]:  # noqa: UP006
        """Run the compiled model."""
        return torch.ops.neuron.forward(  # type: ignore[no-any-return]
            inputs, self.neff, self.interface, self.core, self.cores, self.dynamic
        )


class Tensors(nn.Module):  # type: ignore[misc]
    """Tensors by name: parameters `w0`, `w1` ... or buffers `s0`, `s1` ..."""

    def __init__(self, tensors: Mapping[str, Any], *, parameters: bool) -> None:
        super().__init__()
        for name, tensor in tensors.items():
            if parameters:
                setattr(self, name, nn.Parameter(tensor, requires_grad=False))
            else:
                self.register_buffer(name, tensor)


class Traced(nn.Module):  # type: ignore[misc]
    """A traced model; its `forward` is defined for the structure of its arguments and results."""

    def __init__(self, neuron: Neuron, held: Sequence[tuple[str, Any]]) -> None:
        super().__init__()
        self.neuron = neuron
        weights = {p.removeprefix("weights."): t for p, t in held if p.startswith("weights.")}
        states = {p.removeprefix("states."): t for p, t in held if p.startswith("states.")}
        self.weights = Tensors(weights, parameters=True)
        self.states = Tensors(states, parameters=False)


def scripted(traced: Traced, source: str) -> Any:
    """Return the ScriptModule of a traced model with these methods."""
    # Modules of one class and structure share methods, and each trace has its own class.
    traced.__class__ = type("Traced", (Traced,), {})
    return script(traced, source)


def script(module: nn.Module, source: str) -> Any:
    """Return the ScriptModule of a module, with methods from their source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch 2.14 deprecates TorchScript
        made = torch.jit.script(module)
    made.define(source)
    made.eval()
    object.__setattr__(made, "__class__", Script)
    return made


__all__ = ["Dict", "Neuron", "Tensors", "Traced", "scripted"]
