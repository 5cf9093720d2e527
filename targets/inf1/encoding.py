"""Inf1's instruction encoding: the shared one without control flow.

NeuronCore-v1's sequencers run straight-line streams (assumed: no public source shows loops or
registers), so loops and calls are unrolled and addresses in registers are refused.
"""

from neuronir.targets.encoding.encoding import Encoding

ENCODING = Encoding("inf1", control_flow=False)
