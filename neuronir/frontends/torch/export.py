"""Export a module or function as a program of supported operators."""

import logging
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.torch.devices import check_devices
from neuronir.frontends.torch.frames import line_of_traceback, user_frames
from neuronir.frontends.torch.operators import ALL
from neuronir.frontends.torch.packed import packed_sequences
from neuronir.frontends.torch.registry import KEPT, why_not
from neuronir.frontends.torch.state import PythonState
from neuronir.frontends.torch.unsupported import nodes_of, operator_name

assert ALL  # Importing these modules registers every operator.


CHECKS = (
    *("aten._assert_tensor_metadata.default", "aten._assert_async.default"),
    "aten._assert_async.msg",
)
"""Operators that compute nothing."""
MORE = (
    "aten.dist.default",
    "aten._batch_norm_no_update.default",
    "aten._batch_norm_with_update_functional.default",
)
"""Operators with a decomposition that torch does not use for an export by default."""
MUTATION = ("BUFFER_MUTATION", "PARAMETER_MUTATION")
"""Kinds of results that replace a tensor of the module."""
DATA = (
    *("GuardOnDataDependentSymNode", "DataDependentOutputException", "UserError"),
    *("data-dep", "FakeTensor", "tensor subclasses"),
)
"""Exceptions of torch, and words of their texts, for what needs data of a tensor."""


class Wrapped(nn.Module):  # type: ignore[misc]
    """A function as a module, because export only accepts modules."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        owner = function if isinstance(function, nn.Module) else getattr(function, "__self__", None)
        if isinstance(owner, nn.Module):
            self.func = owner  # so that its parameters keep their names
        self._function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self._function(*args, **kwargs)


def export(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Any:
    """Export a module or function on example arguments, as a torch.export.ExportedProgram.

    Operators that cannot be imported directly are decomposed. NIR_TORCH001 says why torch cannot
    export the model, NIR_TORCH009 that it is not a model, NIR_TORCH015 that a tensor is not on the
    CPU.
    Python state that the model changes is a warning, or NIR_TORCH014 if the results depend on it.
    """
    module = _module(model)
    check_devices(module, (*args, *(kwargs or {}).values()))
    state = PythonState(module)
    level = logging.getLogger("torch").level
    try:
        with warnings.catch_warnings(), torch.no_grad(), _capturing(state):
            warnings.simplefilter("ignore")
            logging.getLogger("torch").setLevel(logging.CRITICAL)
            program = without_checks(_captured(module, model, args, dict(kwargs or {})))
            program = program if _plain(program) else decomposed(program)
    except NeuronError:
        raise
    except Exception as error:
        raise _failed(error) from error
    finally:
        logging.getLogger("torch").setLevel(level)
    changed = [s.target for s in program.graph_signature.output_specs if s.kind.name in MUTATION]
    state.check(args, kwargs or {}, changed)
    return program


@contextmanager
def _capturing(state: PythonState) -> Iterator[None]:
    with state.watched(), user_frames(), packed_sequences():
        yield


def _module(model: Any) -> nn.Module:
    """Return a model as a module (NIR_TORCH009)."""
    if isinstance(model, nn.Module):
        return model
    if not callable(model):
        raise NeuronError(
            "NIR_TORCH009",
            f"the model is of type {type(model).__name__}: it must be a torch.nn.Module or a "
            "function",
        )
    return Wrapped(model)


def _captured(module: nn.Module, model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Capture a module by torch.export; a function also by make_fx, if it uses torch.func."""
    try:
        return torch.export.export(module, tuple(args), dict(kwargs), strict=False)
    except Exception as error:
        if module is model or kwargs or not _of_torch_func(error):
            raise
        try:
            return _traced(model, args)
        # the error of torch.export describes the model better; the other failure is its cause
        except Exception as other:
            raise error from other


def _of_torch_func(error: Exception) -> bool:
    """Return whether torch.export failed at a tensor of torch.func, which it does not accept
    everywhere: as an unsupported case, or in its own code.
    """
    from torch._dynamo.exc import Unsupported

    if isinstance(error, Unsupported):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    inside = Path(frames[-1].filename).is_relative_to(Path(torch.__file__).parent)
    return isinstance(error, AttributeError) and inside


def _traced(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Export a function that uses torch.func, after its derivatives are written out."""
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*args)
    return torch.export.export(graph, tuple(args), strict=False)


def _plain(program: Any) -> bool:
    """Return whether every operator can be imported directly: nothing is decomposed then."""
    return all(why_not(operator_name(node)) is None for node in nodes_of(program))


def decomposed(program: Any) -> Any:
    """Decompose an exported program to core ATen, except for operators that are imported whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return without_checks(program.run_decompositions(decompositions()))


def decompositions() -> Any:
    """Return torch's decompositions, without operators that are imported whole."""
    table = torch.export.default_decompositions()
    for overload, function in torch._decomp.decomposition_table.items():
        if str(overload) in MORE:
            table[overload] = function
    for packet in [entry for entry in table if _kept(entry)]:
        del table[packet]
    return table


def without_checks(program: Any) -> Any:
    """Remove the checks of an exported program, which hold because shapes and types are static."""
    graph = program.graph_module.graph
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and operator_name(node) in CHECKS:
            graph.erase_node(node)
    program.graph_module.recompile()
    return program


def _kept(overload: Any) -> bool:
    namespace, _, own = str(overload).partition(".")
    return namespace == "aten" and (own in KEPT or own.partition(".")[0] in KEPT)


def _failed(error: Exception) -> NeuronError:
    """Convert an exception of torch.export to an error; its first lines describe the problem."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    help = "the model has to run in torch with the example inputs: call model(*example_inputs)"
    if _depends_on_data(error):
        help = "shapes and branches must not depend on the data of tensors: torch.export has to "
        help += "capture the model (torch.where and torch.cond choose by data)"
    where = line_of_traceback(error.__traceback__)
    message = f"the model cannot be captured: {text}"
    return NeuronError("NIR_TORCH001", message, location=where, help=help)


def _depends_on_data(error: BaseException | None) -> bool:
    """Return whether torch needs data of a tensor, which a captured graph does not have."""
    while error is not None:
        if type(error).__name__ in DATA or any(word in str(error) for word in DATA):
            return True
        error = error.__cause__
    return False
