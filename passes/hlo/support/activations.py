"""The HLO opcodes that ACT computes by a table, with their activation functions."""

from neuronir.dialects.nc.enums import Activation

ACTIVATIONS = {
    "hlo.exponential": Activation.EXP,
    "hlo.log": Activation.LOG,
    "hlo.sqrt": Activation.SQRT,
    "hlo.rsqrt": Activation.RSQRT,
    "hlo.tanh": Activation.TANH,
    "hlo.logistic": Activation.SIGMOID,
    "hlo.erf": Activation.ERF,
    "hlo.sine": Activation.SIN,
    "hlo.sign": Activation.SIGN,
    "hlo.abs": Activation.ABS,
}
