"""NeuronIR: an open compiler and simulator for AWS NeuronCores.

    executable = neuronir.compile("model.onnx", target="trn1")
    executable.save("model.neff")
    executable = neuronir.load("model.neff")

`compile`, `load` and `Executable` are those of `neuronir.api`, which is imported when one of them
is first used: the programs start without it.
"""

TYPE_CHECKING = False  # type checkers take it for true; typing itself takes 5 ms
if TYPE_CHECKING:
    from neuronir.api import Executable, compile, load
    from neuronir.dialects.support.errors import NeuronError
    from neuronir.version import __version__

__all__ = ["Executable", "NeuronError", "__version__", "compile", "load"]


def __getattr__(name: str) -> object:
    if name in ("Executable", "compile", "load"):
        from neuronir import api

        return getattr(api, name)
    if name == "__version__":
        from neuronir.version import __version__

        return __version__
    if name == "NeuronError":
        from neuronir.dialects.support.errors import NeuronError

        return NeuronError
    raise AttributeError(f"module 'neuronir' has no attribute '{name}'")
