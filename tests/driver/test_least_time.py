"""The lower bound of a program's time, which decides whether phase `tiled` is tried."""

from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.least_time import least_ns
from neuronir.targets.registry import get_target

LAYERS = 12
STACKED = """HloModule m

ENTRY e {
  x0 = f32[256,512] parameter(0)
  w = f32[12,512,512] parameter(1)
  LINES
  ROOT r = f32[256,512] copy(x12)
}
"""


def test_slices_of_stacked_weights_are_no_work() -> None:
    """Each layer reads its slice, which a transfer converts: only the arrays count, once."""
    lines = [
        f"s{i} = f32[1,512,512] slice(w), slice={{[{i}:{i + 1}], [0:512], [0:512]}}\n"
        f"  v{i} = f32[512,512] reshape(s{i})\n"
        f"  x{i + 1} = f32[256,512] dot(x{i}, v{i}), lhs_contracting_dims={{1}}, "
        "rhs_contracting_dims={0}"
        for i in range(LAYERS)
    ]
    text = STACKED.replace("LINES", "\n  ".join(lines))
    machine = get_target("trn1").machine
    module = compile_text(text, "trn1", CompileOptions(compile_to="hlo")).module
    moved = 4 * (LAYERS * 512 * 512 + 2 * 256 * 512)
    assert least_ns(module, machine) == moved / machine.dma_gbps
