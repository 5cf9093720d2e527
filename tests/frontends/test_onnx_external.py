"""Files beside an ONNX model: looked at before they are opened, and plain files of its folder."""

import os
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from neuronir.cli import neuronx_cc
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.onnx import import_onnx, read_onnx


def model_at(folder: Path, location: str, *, used: bool = True) -> Path:
    """A model one tensor of which lies at a location, with a private file outside of its folder."""
    weight = TensorProto(data_type=TensorProto.FLOAT, dims=[4], name="w")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=location)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
    nodes = [helper.make_node("Mul", ["x", "w" if used else "x"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    inner = folder / "model"
    inner.mkdir(exist_ok=True)
    (folder / "private").write_bytes(bytes(16))
    (inner / "m.onnx").write_bytes(model.SerializeToString())
    return inner / "m.onnx"


_BAD = {
    "fifo": "NIR_ONNX002",
    "zero": "NIR_ONNX003",
    "link": "NIR_ONNX003",
    "round": "NIR_ONNX002",
    "sub/up/private": "NIR_ONNX003",
    "sub": "NIR_ONNX002",
    "x" * 300: "NIR_ONNX002",
    "../private": "NIR_ONNX003",
    "/dev/zero": "NIR_ONNX003",
}


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize("location, code", _BAD.items(), ids=[name[:20] for name in _BAD])
def test_no_file_of_the_folder(
    location: str,
    code: str,
    used: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = model_at(tmp_path, location, used=used)
    os.mkfifo(model.parent / "fifo")
    (model.parent / "zero").symlink_to("/dev/zero")
    (model.parent / "link").symlink_to("../private")
    (model.parent / "round").symlink_to("round")
    (model.parent / "sub").mkdir()
    (model.parent / "sub" / "up").symlink_to("../..")
    opened = []

    def watch(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        opened.append(os.path.basename(str(path)))
        return real(path, flags, mode, dir_fd=dir_fd)

    real = os.open
    monkeypatch.setattr(os, "open", watch)
    words = ["compile", str(model), "--framework", "ONNX", "--target", "trn1"]
    words += ["--cache-dir", str(tmp_path / "cache"), "-o", str(tmp_path / "out.neff")]
    assert neuronx_cc.main(words) == 1
    assert code in capsys.readouterr().err
    assert not {"fifo", "zero", "link", "private"} & set(opened)
    assert not (tmp_path / "cache").exists()


def test_folder_that_becomes_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After it was looked at: nothing outside is read even so."""
    model = model_at(tmp_path, "sub/w.bin")
    sub = model.parent / "sub"
    sub.mkdir()
    (sub / "w.bin").write_bytes(np.ones(4, np.float32).tobytes())
    file = read_onnx(str(model))
    assert import_onnx(file)
    outside = tmp_path / "outside"
    file = read_onnx(str(model))
    is_file = Path.is_file

    def swap(path: Path) -> bool:
        found = is_file(path)
        if path.name == "w.bin" and not outside.exists():
            sub.rename(outside)
            sub.symlink_to(outside)
        return found

    monkeypatch.setattr(Path, "is_file", swap)
    with pytest.raises(NeuronError, match="NIR_INPUT"):
        import_onnx(file)
