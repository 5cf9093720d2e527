"""neuron-opt -t: formats other than MLIR text, most of which are xDSL's."""

from collections.abc import Callable
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from neuronir._xdsl import one_line
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.pass_runner import RunFailure


def print_as(
    load: Callable[[], type[Target]], spec: ArgSpec, ctx: Context, module: ModuleOp
) -> str:
    """Return the module in a format; raises RunFailure (NIR_FMT001) if that is not possible.

    Formats of other packages may raise anything for unknown ops. If a NeuronIR format raises
    anything but coded errors, it is a compiler bug.
    """
    stream = StringIO()
    try:
        format_class = load()
    except ImportError as error:
        raise _failure(spec.name, f"it needs the package {error.name}", "install it") from error
    try:
        format_class.from_spec(spec).emit(ctx, module, stream)
    except NeuronError as error:
        raise RunFailure(Diagnostic.from_error(error)) from error
    except (DiagnosticException, ValueError, NotImplementedError) as error:
        raise _failure(spec.name, one_line(str(error))) from error
    except Exception as error:
        if format_class.__module__.startswith("neuronir."):
            raise
        text = "its printer does not know an operation of the module"
        raise _failure(spec.name, text, "lower the module to what the format can hold") from error
    return stream.getvalue()


def _failure(name: str, why: str, help: str | None = None) -> RunFailure:
    text = f"[NIR_FMT001] cannot print this as '{name}': {why}"
    return RunFailure(Diagnostic("error", text, help=help))
