"""A constant that is stored once for each half of the partitions is stored in that layout."""

import numpy as np

import neuronir
from neuronir.dialects.hlo.interpreter import interpret
from neuronir.driver import CompileOptions
from neuronir.driver.compiler import compile_text
from neuronir.frontends.hlo_text import import_hlo_text
from tests.differential.stages import judge

# The image is on both halves of the partitions, 64 features each, and so is the second filter,
# whose rows of input features are not adjacent.
TEXT = """HloModule m

ENTRY e {
  x = f32[1,64,56,56] parameter(0)
  w = f32[64,64,3,3] parameter(1)
  v = f32[256,64,1,1] parameter(2)
  y = f32[1,64,56,56] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01
  ROOT z = f32[1,256,56,56] convolution(y, v), window={size=1x1}, dim_labels=bf01_oi01->bf01
}
"""


def test_filters_on_both_halves() -> None:
    rng = np.random.default_rng(0)
    x, w, v = (
        rng.standard_normal(shape).astype(np.float32)
        for shape in ((1, 64, 56, 56), (64, 64, 3, 3), (256, 64, 1, 1))
    )
    options = CompileOptions(weights={"arg1": w, "arg2": v}, tiling="never")
    found = compile_text(TEXT, "trn1", options)
    assert found.program is not None
    constants = [variable for variable in found.program.variables if variable.kind == "constant"]
    assert [variable.name for variable in constants] == ["constants"]
    executable = neuronir.Executable(found.program, found.encoding)
    assert executable.report()["total_time_us"] < 60
    module = import_hlo_text(TEXT, "test.hlo")
    reference = {"out0": np.asarray(interpret(module, [x, w, v])[0])}
    report = judge(module, list(executable(x).values()), [x, w, v], reference, "matmult")
    assert report.ok, report.render()
