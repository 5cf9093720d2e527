"""Capture packed sequences with static shapes: as padded ones, with the lengths beside them.

torch packs the rows of sequences of several lengths into one tensor, whose size depends on the
lengths. While a model is captured, the data of a PackedSequence is `Padded` instead, and its
`batch_sizes` are `Lengths`: only recurrent layers and pad_packed_sequence take them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import torch

from neuronir.dialects.support.errors import NeuronError

_VF: Any = torch._VF
_KEEP = 1e4
"""A gate's operand whose sigmoid is exactly 1, and whose negative has the sigmoid 0."""
_ROWS = "the rows of a packed sequence depend on its lengths"
_USES = "pass a PackedSequence to LSTM, GRU, RNN or pad_packed_sequence only"


class _Steps(int):
    """A number of steps that the model does not give."""


class Padded:
    """Padded sequences [steps, batch, features] in the place of `PackedSequence.data`."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.dtype, self.device, self.is_cuda = tensor.dtype, tensor.device, False

    def dim(self) -> int:
        """Return the rank of packed data."""
        return 2

    def size(self, dim: int = -1) -> int:
        """Return the number of features; that of packed rows depends on data."""
        return int(self.tensor.shape[2]) if dim in (1, -1) else _refuse(_ROWS, _USES)

    def __getattr__(self, name: str) -> Any:
        """Refuse what tensors have."""
        return _refuse(_ROWS, _USES)

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        """Refuse torch's functions."""
        _refuse(_ROWS, _USES)


@dataclass(frozen=True)
class Lengths:
    """The lengths (int64 [batch]) of padded sequences of `steps` steps, in the place of
    `PackedSequence.batch_sizes`.
    """

    lengths: Any
    steps: int

    @property
    def device(self) -> Any:
        """The device of the lengths."""
        return self.lengths.device

    def size(self, dim: int) -> int:
        """Return the number of steps; pad_packed_sequence passes it on without a total_length."""
        return _Steps(self.steps)

    def __getitem__(self, index: int) -> int:
        """Return the number of sequences in the first step, which is all of them."""
        if index != 0:
            _refuse("the sizes of single steps are not known")
        return int(self.lengths.shape[0])

    def outside(self) -> Any:
        """Return which steps [steps, batch, 1] are padding."""
        steps = torch.arange(self.steps, dtype=torch.int64).reshape(-1, 1, 1)
        return steps >= self.lengths.reshape(1, -1, 1)

    def reversed(self, padded: Any) -> Any:
        """Return each sequence with its last step first; padding stays at the end."""
        steps = torch.arange(self.steps, dtype=torch.int64).reshape(-1, 1, 1)
        places = self.lengths.reshape(1, -1, 1) - 1 - steps
        places = torch.where(places < 0, steps, places)
        return torch.gather(padded, 0, places.expand(-1, -1, padded.shape[2]))

    def last(self, padded: Any) -> Any:
        """Return the last step [1, batch, features] of each sequence."""
        places = self.lengths.reshape(1, -1, 1) - 1
        return torch.gather(padded, 0, places.expand(-1, -1, padded.shape[2]))


@contextmanager
def packed_sequences() -> Iterator[None]:
    """Let torch pack, run and pad sequences in the form of this module."""
    names = ("_pack_padded_sequence", "_pad_packed_sequence", *_CELLS)
    before = {name: getattr(_VF, name) for name in names}
    own = {name: _recurrent(name, before[name]) for name in _CELLS}
    own |= {"_pack_padded_sequence": _packed, "_pad_packed_sequence": _unpacked}
    for name, function in own.items():
        setattr(_VF, name, function)
    try:
        yield
    finally:
        for name in names:
            delattr(_VF, name)


def _packed(padded: Any, lengths: Any, batch_first: bool) -> tuple[Padded, Lengths]:
    """Return the data and sizes of a PackedSequence."""
    by_step = padded.transpose(0, 1) if batch_first else padded
    sizes = Lengths(lengths, by_step.shape[0])
    # the padding is arbitrary, but must not become NaN
    return Padded(torch.where(sizes.outside(), torch.zeros_like(by_step), by_step)), sizes


def _unpacked(
    data: Padded, sizes: Lengths, batch_first: bool, padding: float, total_length: int
) -> tuple[Any, Any]:
    """Return the padded sequences, of `total_length` steps, and their lengths."""
    if isinstance(total_length, _Steps):
        _refuse(
            "pad_packed_sequence returns as many steps as the longest sequence has",
            f"give the number of steps: pad_packed_sequence(..., total_length={sizes.steps})",
        )
    padded = torch.where(sizes.outside(), padding, data.tensor)
    if total_length > sizes.steps:
        rest = padded.new_full((total_length - sizes.steps, *padded.shape[1:]), padding)
        padded = torch.cat([padded, rest])
    return (padded.transpose(0, 1) if batch_first else padded), sizes.lengths


def _recurrent(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return torch's function of a recurrent layer that also takes `Lengths`."""

    def run(data: Any, sizes: Any, *args: Any) -> Any:
        if not isinstance(sizes, Lengths):
            return original(data, sizes, *args)
        hx, weights, biases, layers, dropout, training, bidirectional = args
        if training and dropout:
            _refuse("dropout between layers is not supported", "call model.eval() first")
        each, directions = 4 if biases else 2, 2 if bidirectional else 1
        if len(weights) != each * directions * layers:
            _refuse("projections (proj_size) of packed sequences are not supported")
        states = [hx] if isinstance(hx, torch.Tensor) else list(hx)
        x, lasts = data.tensor, []
        for layer in range(layers):
            outs = []
            for backwards in range(directions):
                i = layer * directions + backwards
                own = weights[i * each : (i + 1) * each]
                given = sizes.reversed(x) if backwards else x
                initial = [state[i : i + 1] for state in states]
                out, last = _direction(name, original, given, sizes, initial, own)
                outs.append(sizes.reversed(out) if backwards else out)
                lasts.append(last)
            x = torch.cat(outs, 2) if bidirectional else outs[0]
        return (Padded(x), *(torch.cat(values) for values in zip(*lasts, strict=True)))

    return run


def _direction(
    name: str,
    original: Callable[..., Any],
    x: Any,
    sizes: Lengths,
    states: Sequence[Any],
    weights: Sequence[Any],
) -> tuple[Any, list[Any]]:
    """Return (outputs of all steps, states after the last step of each sequence)."""
    weights = list(weights)
    lstm = name == "lstm"
    if lstm:  # one more input keeps the cell state in padding: forget gate 1, input gate 0
        x = torch.cat([x, sizes.outside().to(x.dtype)], 2)
        gate = torch.full((weights[1].shape[1], 1), _KEEP, dtype=x.dtype)
        none = torch.zeros_like(gate)
        weights[0] = torch.cat([weights[0], torch.cat([-gate, gate, none, none])], 1)
    hx = list(states) if lstm else states[0]
    out, *last = original(x, hx, weights, len(weights) == 4, 1, 0.0, False, False, False)
    return out, [sizes.last(out), *last[1:]]


def _refuse(message: str, help: str | None = None) -> NoReturn:
    raise NeuronError("NIR_TORCH001", f"the model cannot be captured: {message}", help=help)


_CELLS = ("lstm", "gru", "rnn_tanh", "rnn_relu")
