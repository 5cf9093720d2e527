"""docs/writing-an-op.md, walked through; the values of what the plugins make, by XLA."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cli.markdown import run_page
from tests.cli.plugins import ROOT, install
from tests.oracle import run_xla

EXAMPLES = ROOT / "examples"
Plugin = tuple[Path, dict[str, str]]
GATE = """HloModule gate
ENTRY main {
  x = f32[2048,64] parameter(0)
  v = f32[64,256] parameter(1)
  w = f32[256,64] parameter(2)
  a = f32[2048,256] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[2048,256] tanh(a)
  ROOT r = f32[2048,64] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
UNIT = """HloModule unit
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] add(p, q)
}
ENTRY main {
  x = f32[ROWS] parameter(0)
  zero = f32[] constant(0)
  one = f32[ROWS] multiply(x, x)
  sum = f32[KEPT] reduce(one, zero), dimensions={LAST}, to_apply=add
  e = f32[] constant(1e-6)
  es = f32[KEPT] broadcast(e), dimensions={}
  more = f32[KEPT] add(sum, es)
  root = f32[KEPT] sqrt(more)
  wide = f32[ROWS] broadcast(root), dimensions={DIMS}
  ROOT r = f32[ROWS] divide(x, wide)
}
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    """The example with an op, installed; the example with a pass lies beside it."""
    folder, environment = install(EXAMPLES / "tiled_op", tmp_path_factory.mktemp("plugin"))
    shutil.copy(EXAMPLES / "tile_sizes.py", folder)
    return folder, environment


def call(plugin: Plugin, program: str, *arguments: str) -> str:
    """What a program prints that runs in the folder of the plugin; it has to succeed."""
    folder, environment = plugin
    command = [sys.executable, "-m", f"neuronir.cli.{program}", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_page_is_true(plugin: Plugin) -> None:
    """Every command gives what the page shows, every excerpt is in the examples."""
    folder, environment = plugin
    assert run_page(ROOT / "docs" / "writing-an-op.md", EXAMPLES, folder, environment) >= 11


def test_its_own_tests_pass(plugin: Plugin) -> None:
    folder, environment = plugin
    done = subprocess.run(
        ["lit", "-v", "lit"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "shape",
    [
        (300, 96),
        pytest.param((2048, 3), marks=pytest.mark.slow),
        (7, 5, 64),
        pytest.param((130, 2048), marks=pytest.mark.slow),
        (1, 640),
    ],
)
def test_the_op_is_right(plugin: Plugin, shape: tuple[int, ...]) -> None:
    """At phase tiled and as a binary, whatever the shape: rows alone and those of a product."""
    folder, _ = plugin
    type_ = "tensor<" + "".join(f"{n}x" for n in shape) + "f32>"
    (folder / "one.mlir").write_text(
        f"func.func @main(%x: {type_}) -> {type_} {{\n"
        f"  %y = rows.unit %x epsilon 1.0e-6 : f32 : {type_}\n  func.return %y : {type_}\n}}\n"
    )
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    dims = [",".join(map(str, s)) for s in (shape, shape[:-1], range(len(shape) - 1))]
    text = UNIT.replace("ROWS", dims[0]).replace("KEPT", dims[1]).replace("DIMS", dims[2])
    (expected,) = run_xla(text.replace("LAST", str(len(shape) - 1)), [x])
    got = binary(plugin, "one.mlir", {"arg0": x}, "hlo")
    np.testing.assert_allclose(got, expected, rtol=2e-6, atol=1e-9)


def binary(
    plugin: Plugin, program: str, inputs: dict[str, NDArray[np.float32]], phase: str
) -> NDArray[np.float32]:
    """The result of a program that is compiled from a phase on, and run with races checked."""
    folder, _ = plugin
    np.savez(folder / "in.npz", **inputs)  # type: ignore[arg-type]
    options = ["--framework", "XLA", "--target", "trn1", "--compile-from", phase]
    options += ["--auto-cast", "none", "--no-cache", "--output", "x.neff"]
    call(plugin, "neuronx_cc", "compile", program, *options)
    files = ["--inputs", "in.npz", "--outputs", "out.npz", "--check-races"]
    call(plugin, "neuron_sim", "run", "x.neff", *files)
    with np.load(folder / "out.npz") as found:
        return np.asarray(found["out0"])


@pytest.mark.parametrize(
    "size",
    [pytest.param(32, marks=pytest.mark.slow), 64, pytest.param(256, marks=pytest.mark.slow)],
)
def test_other_sizes_of_tiles_give_the_same(plugin: Plugin, size: int) -> None:
    folder, _ = plugin
    (folder / "small.hlo").write_text(GATE)
    fuse = "@hlo-to-trn1,tile-expand-composites,tile-fuse{target=trn1 room=3}"
    passes = f"{fuse},sizes-set-tile{{size={size}}},tile-assign-layouts{{target=trn1}}"
    loaded = ["--load", "tile_sizes.py", "-p", passes, "-o", "sized.mlir"]
    call(plugin, "neuron_opt", "small.hlo", *loaded)
    text = (folder / "sized.mlir").read_text()
    assert "scf.for" in text and f"tensor<{size}x256xf32" in text
    rng = np.random.default_rng(1)
    shapes = ((2048, 64), (64, 256), (256, 64))
    arrays = [(rng.normal(size=s) / 8).astype(np.float32) for s in shapes]
    (expected,) = run_xla(GATE, arrays)
    got = binary(plugin, "sized.mlir", {f"arg{i}": a for i, a in enumerate(arrays)}, "tiled")
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_rules_that_cannot_be_loaded_are_named(plugin: Plugin) -> None:
    """The user learns which package it is."""
    folder, environment = plugin
    info = folder.parent / "broken" / "broken-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[neuronir.rules]\nbroken = no_such_module\n")
    path = os.pathsep.join([str(info.parent), environment["PYTHONPATH"]])
    (folder / "any.mlir").write_text("func.func @main() {\n  func.return\n}\n")
    command = [sys.executable, "-m", "neuronir.cli.neuron_opt", "any.mlir", "-p", "@trn1:tiled"]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "[NIR_PLUGIN] rules 'broken' (no_such_module) cannot be loaded" in done.stderr
