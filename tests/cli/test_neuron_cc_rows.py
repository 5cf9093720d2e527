"""Rows A and C of docs/features.md that concern the command line of neuron-cc.

Each test bears the number of its row.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from neuronir.cli import neuron_cc
from neuronir.cli.neuron_cc_refused import kind_of, warnings_of_refusal

TINY = """HloModule tiny
ENTRY main {
  x = f32[4,64] parameter(0)
  w = f32[64,32] parameter(1)
  ROOT d = f32[4,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
DILATED = """HloModule conv
ENTRY main {
  x = f32[1,8,8,4] parameter(0)
  w = f32[3,3,4,4] parameter(1)
  ROOT y = f32[1,11,11,4] convolution(x, w), window={WINDOW}, dim_labels=b01f_01io->b01f
}
""".replace("WINDOW", "size=3x3 lhs_dilate=2x2 rhs_dilate=2x2")
WATCHED = """
import json, sys
seen = []
def hook(event, args):
    if event in ("open", "os.open") and isinstance(args[0], str):
        seen.append(args[0])
    elif event in ("socket.connect", "ctypes.dlopen"):
        seen.append(f"{event} {args[-1]}")
sys.addaudithook(hook)
from neuronir.cli import neuron_cc
status = neuron_cc.main(["compile", "m.hlo", "--framework", "XLA"])
json.dump([status, seen], open("seen.json", "w"))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", "")
    monkeypatch.delenv("NEURON_CC_FLAGS", raising=False)
    return tmp_path


def test_a06_a_compile_needs_no_device(folder: Path) -> None:
    """A compile opens no device, driver or connection, and loads no library of the runtime."""
    (folder / "m.hlo").write_text(TINY)
    subprocess.run([sys.executable, "-c", WATCHED], check=True, timeout=300)
    status, seen = json.loads((folder / "seen.json").read_text())
    assert status == 0 and (folder / "out.neff").exists()
    assert any(name.endswith("m.hlo") for name in seen)  # the hook sees files
    device = re.compile(r"^/dev/neuron|/sys/.*neuron|libnrt|socket\.connect")
    assert not [name for name in seen if device.search(name)]


def test_c04_unsupported_operators_and_convolution_sizes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "m.hlo").write_text(DILATED)
    words = ["compile", "m.hlo", "--framework", "XLA"]
    assert neuron_cc.main(words) == 1
    warned, *rest = capsys.readouterr().err.splitlines()
    assert warned.startswith("warning: unsupported convolution size: [NCC_EVRF010] ")
    assert "'y'" in warned and "input and kernel dilation together are not supported" in warned
    assert "error: [NCC_EVRF010] 1 operation is not supported by inf1" in rest[0]
    assert neuron_cc.main(["--verbose", "ERROR", *words]) == 1
    assert "warning" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("NonZero ('find'): the shape of its result depends on data", "operator"),
        ("[NCC_EVRF016] hlo.scatter 's': too many integers", "operator"),
        ("  Conv ('c'): no such operator", "convolution size"),
        ("[NCC_EVRF010] hlo.convolution 'y': dilation", "convolution size"),
        ("  Resize ('r'): tf_crop_and_resize", "upsampling"),
        ("  ResizeBicubic ('r'): it is not supported", "upsampling"),
        ("  SpaceToBatchND: its block depends on data", "layout"),
    ],
)
def test_c05_unsupported_layouts_and_upsampling(line: str, kind: str) -> None:
    assert kind_of(line) == kind
    text = f"[NCC_EUOC002] 1 operator is not supported:\n{line}"
    assert list(warnings_of_refusal(text)) == [f"unsupported {kind}: {line.strip()}"]
    assert not list(warnings_of_refusal(f"[NCC_EOOM002] SBUF is too small:\n{line}"))
