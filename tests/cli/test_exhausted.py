"""Programs that are too much: nested a thousand deep, or larger than the memory."""

import io
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context

from neuronir.cli import neuron_check, neuron_opt, neuronx_cc
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.hlo.inline import HloInlinePass
from tests.driver.models import DENSE

DEEP = 900
_LIMITED = """
import os, resource, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # each thread reserves addresses
from neuronir.cli.start import neuron_sim, neuronx_cc
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
sys.exit({"sim": neuron_sim, "cc": neuronx_cc}[sys.argv.pop(1)]())
"""
IOTA = """HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY e {
  x = f32[100]{0} parameter(0)
  i = s32[4000000000]{0} iota(), iota_dimension=0
  f = f32[4000000000]{0} convert(i)
  z = f32[] constant(0)
  s = f32[] reduce(f, z), dimensions={0}, to_apply=add
  b = f32[100]{0} broadcast(s), dimensions={}
  ROOT y = f32[100]{0} add(b, x)
}
"""


def nested(depth: int, op: str) -> str:
    """A computation within a computation and so on: `op` has I for the number of the inner one."""
    lines = [
        "HloModule m",
        "never { p = f32[8]{0} parameter(0)",
        "ROOT r = pred[] constant(false) }",
    ]
    lines += ["f0 { p = f32[8]{0} parameter(0)", "ROOT r = f32[8]{0} negate(p) }"]
    for number in range(1, depth + 1):
        name = "ENTRY e" if number == depth else f"f{number}"
        lines.append(f"{name} {{ p = f32[8]{{0}} parameter(0)")
        lines.append(f"ROOT r = f32[8]{{0}} {op.replace('I', str(number - 1))} }}")
    return "\n".join(lines)


CALLS = nested(DEEP, "call(p), to_apply=fI")
LOOPS = nested(DEEP, "while(p), condition=never, body=fI")


def test_nested_calls_are_inlined() -> None:
    module = import_hlo_text(CALLS)
    HloInlinePass().apply(Context(), module)
    assert [op.name for op in module.walk() if op.name[:4] == "hlo."] == ["hlo.negate"]


def test_circle_of_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    functions = "".join(
        f"func.func private @{name}(%x: tensor<2xf32>) -> tensor<2xf32> {{\n"
        f"  %0 = hlo.call %x callee = @{callee} : tensor<2xf32>\n"
        "  func.return %0 : tensor<2xf32>\n}\n"
        for name, callee in (("a", "b"), ("b", "c"), ("c", "b"))
    )
    path = tmp_path / "x.mlir"
    path.write_text(functions)
    assert neuron_opt.main([str(path), "-p", "hlo-inline"]) == 1
    assert "[NIR_RECURSION] computations call each other in a circle: b -> c -> b" in (
        capsys.readouterr().err
    )


def test_what_is_nested_too_deeply_is_coded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.hlo"
    path.write_text(LOOPS)
    words = ["compile", str(path), "--framework", "XLA", "--target", "trn1", "--no-cache"]
    assert neuronx_cc.main([*words, "-o", str(tmp_path / "x.neff")]) == 1
    assert neuron_check.main([str(path), "--target", "trn1"]) == 1
    assert neuron_opt.main([str(path)]) == 1
    for text in (
        "scf.if %p {\n" * DEEP,
        '"test.op"() {a = ' + "[" * 5000,
        '"test.op"() : () -> ' + "tuple<" * 5000,
    ):
        (tmp_path / "x.mlir").write_text(text)
        assert neuron_opt.main([str(tmp_path / "x.mlir"), "--allow-unregistered-dialect"]) == 1
    said = capsys.readouterr().err
    assert said.count("error: [NIR_DEPTH] the program is nested too deeply") == 6
    assert "internal" not in said


def limited(*words: str) -> tuple[int, list[str]]:
    """Run a program with 3 GiB of addresses; its status and its lines of errors."""
    command = [sys.executable, "-c", _LIMITED, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stderr.splitlines()


def bomb(path: Path, elements: int) -> None:
    """An archive of few bytes that claims to hold so many floats."""
    header = io.BytesIO()
    form = {"descr": "<f4", "fortran_order": False, "shape": (elements,)}
    np.lib.format.write_array_header_1_0(header, form)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("arg0.npy", header.getvalue() + bytes(4 << 20))


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="memory cannot be limited")
@pytest.mark.parametrize("what", ["iota", "weights", "inputs"])
def test_no_memory_is_one_line(what: str, tmp_path: Path) -> None:
    model, output = tmp_path / "x.hlo", tmp_path / "x.neff"
    model.write_text(IOTA if what == "iota" else DENSE)
    bomb(tmp_path / "bomb.npz", 1 << 38)
    words = ["cc", "compile", str(model), "--framework", "XLA", "--target", "trn1", "--no-cache"]
    words += ["-o", str(output)]
    if what == "iota":
        words += ["--tiling", "never"]
    if what == "weights":
        words += ["--weights", str(tmp_path / "bomb.npz")]
    if what == "inputs":
        assert neuronx_cc.main(words[1:]) == 0
        words = ["sim", "run", str(output), "--inputs", str(tmp_path / "bomb.npz")]
    status, said = limited(*words)
    assert status == 1
    assert "error: [NIR_MEMORY] there is not enough memory: Unable to allocate " in said[0]
    assert len(said) == 2 and said[1].startswith("help: ")
