"""A frontend whose package is not installed says so in one error, and how to install it."""

import subprocess
import sys

import pytest

from tests.corpus import CORPUS

_WITHOUT = """
import sys
sys.modules[{package!r}] = None  # an import of it fails
from neuronir.cli.start import neuronx_cc
sys.argv = ["neuronx-cc", *{arguments!r}]
sys.exit(neuronx_cc())
"""


@pytest.mark.parametrize(
    ("package", "arguments", "said"),
    [
        ("torch", "list-operators --framework PYTORCH", ("NIR_TORCH003", "neuronir[torch]")),
        ("torch", "compile x.pt2 --framework PYTORCH --target trn1", ("NIR_TORCH003",)),
        (
            "onnx",
            f"compile {CORPUS}/onnx/bert_tiny.onnx --framework ONNX --target trn1",
            ("NIR_ONNX000",),
        ),
        (
            "google.protobuf",
            f"compile {CORPUS}/tf/tf1_cond.pb --framework TENSORFLOW --target trn1",
            ("NIR_TF", "neuronir[tensorflow]"),
        ),
    ],
)
def test_it_is_named(package: str, arguments: str, said: tuple[str, ...]) -> None:
    code = _WITHOUT.format(package=package, arguments=arguments.split())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "internal" not in done.stderr
    assert all(text in done.stderr for text in said), done.stderr
