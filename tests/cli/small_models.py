"""Models of a few lines, and a folder with them in which a program runs."""

from pathlib import Path

import pytest

ADD = """HloModule add
ENTRY main {
  x = f32[4,8] parameter(0)
  y = f32[4,8] parameter(1)
  ROOT r = f32[4,8] add(x, y)
}
"""
DENSE = """< ir_version: 10, opset_import: ["" : 20] >
dense (float[n, 3] x) => (float[n, 2] y)
< float[3, 2] w = {1, 0, -1, 0.5, 0.5, 0} >
{
  h = MatMul (x, w)
  y = Relu (h)
}
"""


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch, graph: str = DENSE) -> None:
    """Write the models m.hlo and m.onnxtxt, and run programs there without a compile cache."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", "")
    (folder / "m.hlo").write_text(ADD)
    (folder / "m.onnxtxt").write_text(graph)
