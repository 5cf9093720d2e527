"""Trn1's instruction encoding: the shared one, with loops, calls and registers."""

from neuronir.targets.encoding.encoding import Encoding

ENCODING = Encoding("trn1", control_flow=True)
