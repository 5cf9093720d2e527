"""The functional half runs where xdsl, the passes and the frontends cannot be imported."""

import subprocess
import sys

SCRIPT = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        banned = ("xdsl", "neuronir.passes", "neuronir.frontends", "neuronir.dialects.hlo")
        if name.startswith(banned):
            raise ImportError(name + " must not be needed")

sys.meta_path.insert(0, Block())
from neuronir.targets.simulator import functional, memory, races, walker
from tests.simulator_functional.gemm import gemm
races.check_races(gemm(4, 128, 64))
print("ran", hasattr(functional, "run"))
"""


def test_without_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.stdout == "ran True\n", done.stderr
