"""lit configuration of the plugin: run `lit lit/ -v` in its folder, with the plugin installed."""

import os

from neuronir.testing.lit_inproc import InProcShTest, warm_up

config = globals()["config"]  # lit executes this file with this name set

warm_up()
config.name = "toy1-neuron"
config.suffixes = [".mlir"]
config.test_format = InProcShTest()
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(config.test_source_root, "..", "build", "lit")
