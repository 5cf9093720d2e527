"""The frameworks whose models are compiled, by the names of --framework."""

from neuronir.dialects.support.errors import NeuronError

FRAMEWORKS = ("XLA", "ONNX", "TENSORFLOW", "PYTORCH")


def check_framework(name: str) -> None:
    """Reject an unsupported framework by name (NIR_ARG001)."""
    if name.upper() == "MXNET":
        raise NeuronError(
            "NIR_ARG001",
            "--framework MXNET is not supported: MXNet was retired in 2023",
            help="export the model to ONNX (mxnet.onnx.export_model) and use --framework ONNX",
        )
    if name.upper() not in FRAMEWORKS:
        raise NeuronError(
            "NIR_ARG001",
            f"--framework {name or repr(name)} is not supported",
            help="use --framework " + " or ".join(FRAMEWORKS),
        )
