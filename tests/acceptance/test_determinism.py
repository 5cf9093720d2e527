"""The same model gives the same bytes, whatever order Python's hashes give to sets."""

import hashlib
import os
import subprocess
import sys

import pytest

from tests.acceptance.programs import model

_SCRIPT = """
import hashlib, sys
from tests.acceptance.programs import container
print(hashlib.sha256(container(sys.argv[1])).hexdigest())
"""


def _digest(name: str, seed: str) -> str:
    model(name)
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", _SCRIPT, name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    digest = done.stdout.strip()
    assert len(digest) == hashlib.sha256().digest_size * 2
    return digest


def test_small() -> None:
    assert _digest("hf_resnet_tiny", "1") == _digest("hf_resnet_tiny", "2")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hf_bert_base", "hf_resnet50", "lenet_train_sgd", "lstm_scan"])
def test_large(name: str) -> None:
    assert _digest(name, "1") == _digest(name, "2")
