"""lit configuration: run from the root as `lit lit/ -v`."""

import os
import sys

import lit.formats

config = globals()["config"]  # lit executes this file with these two names set
lit_config = globals()["lit_config"]

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(here)
sys.path.append(root)  # an uninstalled checkout works too; appended, so that lit stays lit

config.name = "NeuronIR"
config.suffixes = [".mlir", ".hlo", ".onnxtxt", ".test"]
config.excludes = ["Inputs", "tools"]
config.test_source_root = here
config.test_exec_root = os.path.join(root, "build", "lit")

# `--param inproc=0` starts every program as a process of its own.
if lit_config.params.get("inproc", "1") != "0":
    from neuronir.testing.lit_inproc import InProcShTest, warm_up

    warm_up()  # imported before lit forks its workers
    config.test_format = InProcShTest()
else:
    config.test_format = lit.formats.ShTest(execute_external=False)

# The tools beside the interpreter that runs lit come first, activated or not.
bindir = os.path.dirname(os.path.abspath(sys.executable))
path = [bindir, os.path.join(here, "tools"), config.environment.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(path)
config.environment["PYTHONPATH"] = root
config.environment["NEURON_COMPILE_CACHE_URL"] = ""  # tests compile anew
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%root", root))
