"""The check dialect: a test file can be a program together with the values it must compute."""

from xdsl.ir import Dialect

from neuronir.dialects.check.ops import ExpectCloseOp, ExpectEqOp

Check = Dialect("check", [ExpectCloseOp, ExpectEqOp], [])
