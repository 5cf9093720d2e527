"""Report a wrong call of a traced model as one error."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.torch.devices import check_layout

_ERROR = re.compile(
    r"NeuronError: error: \[(\w+)\] (.*?)(?:\nhelp: ([^\n]*))?(?:\n\s*At:|\s*$)", re.DOTALL
)


class CallError(NeuronError, RuntimeError):
    """A call of a traced model that cannot be run. A RuntimeError, as torch raises them."""


class Script(torch.jit.RecursiveScriptModule):  # type: ignore[misc]
    """The ScriptModule that `trace` returns. torch.jit.load returns one of torch's own class, whose
    errors TorchScript words.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model (CallError: NIR_TORCH007, NIR_TORCH009, NIR_TORCH015)."""
        try:
            return super().__call__(*args, **kwargs)
        except RuntimeError as error:
            found = _ERROR.search(str(error))
            if found is not None:
                raise CallError(found[1], found[2], help=found[3]) from None
            try:
                _check_arguments(self.forward.schema.arguments[1:], args, kwargs)
            except NeuronError as own:
                raise CallError(own.code, own.message, help=own.help) from None
            raise


def _check_arguments(wanted: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise NeuronError if arguments are not dense tensors, or not those that the model takes."""
    names = [argument.name for argument in wanted]
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        for leaf in pytree.tree_leaves(value):
            if not isinstance(leaf, torch.Tensor):
                raise NeuronError(
                    "NIR_TORCH009",
                    f"argument '{name}' is of type {type(leaf).__name__}: it must be a tensor, as "
                    "in the example inputs",
                    help="pass torch.as_tensor(x), in the type of the example input",
                )
            check_layout(leaf, f"argument '{name}'")
    given = [*names[: len(args)], *kwargs]
    if len(args) > len(names) or sorted(given) != sorted(names):
        more = [f"argument {i}" for i in range(len(names), len(args))]
        raise NeuronError(
            "NIR_TORCH007",
            f"the model takes ({', '.join(names)}), ({', '.join(given + more)}) are given",
            help="pass the arguments that the model was traced with, by position",
        )
