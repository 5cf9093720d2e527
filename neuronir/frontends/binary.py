"""Recognise formats of files by their content."""

import re

from neuronir.dialects.support.errors import NeuronError

_BYTECODE = b"ML\xefR"
_NAME = r"(?:stablehlo|chlo|vhlo)\.\w+"
_OPS = re.compile(rf'^[^\n"/]*?(?:"{_NAME}"\(|\b{_NAME}[\s(])', re.MULTILINE)
_JAX = re.compile(r"^\s*module\b[^\n]*\b(?:mhlo|jax)\.\w+\s*=", re.MULTILINE)


def is_binary(data: bytes) -> bool:
    """Return whether a file cannot be text: control characters are among its first bytes."""
    return any(byte < 9 or 13 < byte < 32 for byte in data[:4096])


def is_stablehlo(text: str) -> bool:
    """Return whether MLIR text is StableHLO: it has its ops, or a module with JAX's attributes."""
    if "stablehlo." in text or "chlo." in text or "vhlo." in text:
        return _OPS.search(text) is not None
    return ("mhlo." in text or "jax." in text) and _JAX.search(text) is not None


def refuse_bytecode(data: bytes, name: str) -> None:
    """Raise NIR_SHL002 if a file is MLIR bytecode, such as a portable artifact of StableHLO."""
    if data.startswith(_BYTECODE):
        raise NeuronError(
            "NIR_SHL002",
            f"'{name}' is MLIR bytecode (a portable artifact), which cannot be read",
            help="write the text: `lowered.as_text()` of jax.jit(f).lower(...), `mlir_module()` "
            "of jax.export, or `stablehlo-translate --deserialize` of the artifact",
        )
