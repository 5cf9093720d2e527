"""Check bindings against a module that is text: its shapes and types are static already."""

from xdsl.dialects.builtin import ModuleOp, TensorType

from neuronir.dialects.support.dtypes import element_type
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.weights import entry_function, parameter_names
from neuronir.frontends.bindings import Bindings


def check_signature(bindings: Bindings, kind: str, name: str) -> None:
    """Raise NIR_ARG002 for --signature of an input that is not a TensorFlow model."""
    if bindings.signature is not None and kind != "tensorflow":
        raise NeuronError(
            "NIR_ARG002",
            f"--signature {bindings.signature} is not supported: '{name}' is not a SavedModel",
            help="leave --signature out",
        )


def check_bindings(module: ModuleOp, bindings: Bindings, file: str) -> None:
    """Raise NIR_ARG003 for bindings that do not name a parameter of the entry, with its shape and
    type. Outputs cannot be selected, because the results of a module have no names.
    """
    if bindings.outputs is not None:
        raise NeuronError(
            "NIR_ARG003",
            "--io-config: the outputs of a module cannot be selected, its results have no names",
            location=file,
            help="leave 'outputs' out: all results of the entry are computed",
        )
    if not bindings.shapes and not bindings.dtypes:
        return
    types = _parameters(module)
    for name in {**bindings.shapes, **bindings.dtypes}:
        found = types.get(name)
        if found is None:
            known = ", ".join(f"'{known}'" for known in parameter_names(module) if known)
            raise NeuronError(
                "NIR_ARG003",
                f"the module has no parameter '{name}'",
                location=file,
                help=f"its parameters: {known}" if known else "parameters are named arg0, arg1 ...",
            )
        shape = bindings.shapes.get(name)
        if shape is not None and shape != found.get_shape():
            raise NeuronError(
                "NIR_ARG003",
                f"shape {_shown(shape)} does not fit parameter '{name}', which is "
                f"{_shown(found.get_shape())}",
                location=file,
                help="the shapes of a module are static: write it again with other shapes",
            )
        if name in bindings.dtypes:
            _check_type(name, found, bindings.dtypes[name], file)


def _parameters(module: ModuleOp) -> dict[str, TensorType]:
    """Return the types of the entry's tensors by their names, and by argN."""
    arguments = entry_function(module).body.block.args
    found: dict[str, TensorType] = {}
    for index, (name, argument) in enumerate(zip(parameter_names(module), arguments, strict=True)):
        if isinstance(argument.type, TensorType):
            found[f"arg{index}"] = argument.type
            found[name] = argument.type
    return found


def _check_type(name: str, found: TensorType, given: str, file: str) -> None:
    try:
        wanted = element_type(given)
    except (NeuronError, TypeError) as error:
        raise NeuronError(
            "NIR_ARG003",
            f"--io-config: parameter '{name}': unknown type '{given}'",
            location=file,
            help="types are those of numpy and ml_dtypes, such as float32, bfloat16 or int32",
        ) from error
    if wanted != found.element_type:
        raise NeuronError(
            "NIR_ARG003",
            f"parameter '{name}' has type {found.element_type}, --io-config says '{given}'",
            location=file,
        )


def _shown(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a scalar"
