"""A small model as HLO text, its inputs and its result."""

from pathlib import Path

import numpy as np

from neuronir.dialects.support.npz import Array, npz_bytes

DENSE = """HloModule dense

ENTRY main.8 {
  x.1 = f32[4,64]{1,0} parameter(0)
  w.2 = f32[64,32]{1,0} parameter(1)
  dot.3 = f32[4,32]{1,0} dot(x.1, w.2), lhs_contracting_dims={1},
    rhs_contracting_dims={0},
    metadata={op_name="jit(f)/dot_general" source_file="model.py" source_line=7}
  b.4 = f32[32]{0} parameter(2)
  broadcast.5 = f32[4,32]{1,0} broadcast(b.4), dimensions={1}
  add.6 = f32[4,32]{1,0} add(dot.3, broadcast.5)
  ROOT tanh.7 = f32[4,32]{1,0} tanh(add.6)
}
"""


def dense_arguments() -> list[Array]:
    """x, w and b."""
    rng = np.random.default_rng(1)
    shapes = ((4, 64), (64, 32), (32,))
    return [(rng.standard_normal(s) * 0.1).astype(np.float32) for s in shapes]


def dense_result() -> Array:
    """tanh(x w + b) in double precision, rounded once."""
    x, w, b = (a.astype(np.float64) for a in dense_arguments())
    result: Array = np.tanh(x @ w + b).astype(np.float32)
    return result


def write_model(folder: Path) -> tuple[str, str, str]:
    """Model, inputs and reference as files; gives their paths."""
    (folder / "dense.hlo").write_text(DENSE)
    arguments = {f"arg{i}": a for i, a in enumerate(dense_arguments())}
    (folder / "in.npz").write_bytes(npz_bytes(arguments))
    (folder / "ref.npz").write_bytes(npz_bytes({"out0": dense_result()}))
    return str(folder / "dense.hlo"), str(folder / "in.npz"), str(folder / "ref.npz")
