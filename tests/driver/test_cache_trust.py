"""What neuronx-cc's cache must not believe: files that change, and entries that others made."""

import json
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from neuronir import cache_entry
from neuronir.cache import Cache
from neuronir.cli import neuronx_cc
from neuronir.cli.cc_messages import Messages

SOURCE = """HloModule m

ENTRY e {
  x = f32[8]{0} parameter(0)
  c = f32[] constant(%s)
  b = f32[8]{0} broadcast(c), dimensions={}
  ROOT y = f32[8]{0} multiply(x, b)
}
"""
A, B = SOURCE % "2.5", SOURCE % "3.5"


def compiled(model: Path, *options: str, framework: str = "XLA") -> bytes:
    """The binary; the cache lies beside the model."""
    output = model.parent / "out.neff"
    words = ["compile", str(model), "--framework", framework, "--target", "trn1", "-v", "info"]
    words += ["--cache-dir", str(model.parent / "cache"), "-o", str(output), *options]
    assert neuronx_cc.main(words) == 0
    return output.read_bytes()


def fresh(model: Path, *options: str, framework: str = "XLA") -> bytes:
    return compiled(model, "--no-cache", *options, framework=framework)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.hlo"
    path.write_text(A)
    return path


def entry_of(folder: Path) -> Path:
    (entry,) = (folder / "cache").glob("neuronxcc-*/MODULE_*")
    return entry


# --- what is compiled is what the key is made from


def test_model_that_is_replaced_after_its_digest(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    get = Cache.get

    def replace(cache: Cache, entry: Path) -> object:
        found = get(cache, entry)
        model.write_text(B)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Cache, "get", replace)
        compiled(model)
    model.write_text(A)
    assert compiled(model) == fresh(model)


@pytest.mark.parametrize("replaced", ["model", "weights"])
def test_file_that_is_replaced_and_comes_back(
    replaced: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after the compile the file is the same; only between it is another."""
    weights = model.parent / "w.npz"
    files = {}
    for name, number in (("a", 1), ("b", 2)):
        np.savez(model.parent / name, arg0=np.full(8, number, np.float32))
        files[name] = (model.parent / f"{name}.npz").read_bytes()
    weights.write_bytes(files["a"])
    path, other = (model, B.encode()) if replaced == "model" else (weights, files["b"])
    options = ("--weights", str(weights))
    saved, get, phase = model.parent / "saved", Cache.get, Messages.phase

    def swap(cache: Cache, entry: Path) -> object:
        found = get(cache, entry)
        path.rename(saved)
        path.write_bytes(other)
        return found

    def swap_back(messages: Messages, name: str) -> object:
        if name == "hlo" and saved.exists():
            saved.rename(path)
        return phase(messages, name)

    with monkeypatch.context() as patch:
        patch.setattr(Cache, "get", swap)
        patch.setattr(Messages, "phase", swap_back)
        compiled(model, *options)
    assert compiled(model, *options) == fresh(model, *options)


def test_output_that_another_process_replaces(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = Cache.put

    def replace(cache: Cache, part: Path, entry: Path, *rest: Any, **named: Any) -> None:
        (model.parent / "out.neff").write_bytes(b"of another process")
        put(cache, part, entry, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Cache, "put", replace)
        compiled(model)
    assert compiled(model) == fresh(model)


def test_files_of_equal_size_and_time(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As tar unpacks them; also long after they were written."""
    times = (1_000_000_000, 1_000_000_000)
    os.utime(model, times)
    first = compiled(model)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 60)
    assert compiled(model) == first
    model.write_text(B)
    os.utime(model, times)
    assert compiled(model) == fresh(model) != first


def test_file_uri_of_an_io_config_is_read(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g", [x], [y])
    model.write_bytes(helper.make_model(graph).SerializeToString())
    config = tmp_path / "io.json"
    found = []
    for rows in (1, 2):
        config.write_text(json.dumps({"inputs": {"x": [[rows, 4], "float32"]}}))
        found.append(compiled(model, "--io-config", config.as_uri(), framework="ONNX"))
    assert found[0] != found[1]


# --- files beside an ONNX model


def outside(file: str) -> TensorProto:
    proto = TensorProto(data_type=TensorProto.FLOAT, dims=[4], name="c")
    proto.data_location = TensorProto.EXTERNAL
    proto.external_data.add(key="location", value=file)
    return proto


def constant(file: str, output: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [output], value=outside(file))


def in_a_node() -> onnx.ModelProto:
    return with_nodes([constant("w.bin", "c"), helper.make_node("Mul", ["x", "c"], ["y"])])


def in_a_subgraph() -> onnx.ModelProto:
    result = helper.make_tensor_value_info("r", TensorProto.FLOAT, [4])
    one = numpy_helper.from_array(np.ones(4, np.float32))
    branches = {
        "then_branch": helper.make_graph([constant("w.bin", "r")], "then", [], [result]),
        "else_branch": helper.make_graph(
            [helper.make_node("Constant", [], ["r"], value=one)], "else", [], [result]
        ),
    }
    zero = numpy_helper.from_array(np.zeros(4, np.float32))
    return with_nodes(
        [
            helper.make_node("Constant", [], ["z"], value=zero),
            helper.make_node("Constant", [], ["axes"], value_ints=[0]),
            helper.make_node("ReduceMax", ["x", "axes"], ["m"], keepdims=0),
            helper.make_node("ReduceMax", ["z", "axes"], ["n"], keepdims=0),
            helper.make_node("Greater", ["m", "n"], ["p"]),
            helper.make_node("If", ["p"], ["c"], **branches),
            helper.make_node("Mul", ["x", "c"], ["y"]),
        ]
    )


def in_a_function() -> onnx.ModelProto:
    body = [constant("w.bin", "c"), helper.make_node("Mul", ["a", "c"], ["b"])]
    opsets = [helper.make_opsetid("", 20)]
    function = helper.make_function("own", "F", ["a"], ["b"], body, opsets)
    return with_nodes([helper.make_node("F", ["x"], ["y"], domain="own")], [function])


def with_nodes(
    nodes: list[onnx.NodeProto], functions: list[onnx.FunctionProto] | None = None
) -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions or [])


@pytest.mark.parametrize("make", [in_a_node, in_a_subgraph, in_a_function])
def test_constants_in_other_files(make: Callable[[], onnx.ModelProto], tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(make().SerializeToString())
    found = []
    for number in (2, 3):
        (tmp_path / "w.bin").write_bytes(np.full(4, number, np.float32).tobytes())
        found.append(compiled(model, framework="ONNX"))
    assert found[0] != found[1]
    assert found[1] == fresh(model, framework="ONNX")


# --- entries


def owned_by_another(entry: Path, file: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(entry / file, 4711, -1)


def writable(entry: Path, file: str) -> None:
    (entry / file).chmod(0o777)


def fifo(entry: Path, file: str) -> None:
    (entry / file).unlink()
    os.mkfifo(entry / file)


def device(entry: Path, file: str) -> None:
    (entry / file).unlink()
    (entry / file).symlink_to("/dev/zero")


def link(entry: Path, file: str) -> None:
    (entry / file).rename(entry.parent.parent / file)
    (entry / file).symlink_to(entry.parent.parent / file)


def nested(entry: Path, file: str) -> None:
    (entry / file).write_text("[" * 100_000)


def no_text(entry: Path, file: str) -> None:
    (entry / file).write_bytes(b"\xff")


def other_form(entry: Path, file: str) -> None:
    (entry / file).write_text("[1]")


def gone(entry: Path, file: str) -> None:
    (entry / file).unlink()


def changed(entry: Path, file: str) -> None:
    data = bytearray((entry / file).read_bytes())
    data[len(data) // 2] ^= 1
    (entry / file).write_bytes(data)


_BOTH = ("model.neff", "entry.json")
_FAULTS = [(fault, file) for fault in (fifo, device, link, gone, changed) for file in _BOTH]
_FAULTS += [(fault, "entry.json") for fault in (nested, no_text, other_form)]
_FAULTS += [(fault, file) for fault in (owned_by_another, writable) for file in (*_BOTH, ".")]


@pytest.mark.parametrize("fault, file", _FAULTS)
def test_damaged_entry_is_told_once_and_replaced(
    fault: Callable[[Path, str], None],
    file: str,
    model: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = compiled(model)
    fault(entry_of(model.parent), file)
    capsys.readouterr()
    assert compiled(model) == first
    said = "".join(capsys.readouterr())
    assert said.count("warning: the cache's entry MODULE_") == 1, said
    assert "Using a cached neff" not in said
    assert compiled(model) == first
    said = "".join(capsys.readouterr())
    assert "warning" not in said and "Using a cached neff" in said


def test_entry_of_another_key_is_not_taken(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiled(model)
    entry = entry_of(model.parent)
    kept = model.parent / "kept"
    shutil.move(entry, kept)
    model.write_text(B)
    compiled(model)
    other = entry_of(model.parent)
    shutil.rmtree(other)
    shutil.move(kept, other)
    capsys.readouterr()
    assert compiled(model) == fresh(model)
    assert "Using a cached neff" not in capsys.readouterr().out


def test_messages_are_no_commands_for_a_terminal(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled(model)
    entry = entry_of(model.parent)
    about = {
        "name": entry.name,
        "sha256": sha256((entry / "model.neff").read_bytes()).hexdigest(),
        "messages": [[30, "warning: a\x1b]0;b\x07c\nd\u202ee\x9bf\ud800"]],
    }
    about["own"] = cache_entry.digest_of_about(about)
    (entry / "entry.json").write_text(json.dumps(about))
    capsys.readouterr()
    compiled(model)
    said = "".join(capsys.readouterr())
    assert "warning: a\\x1b]0;b\\x07c\\nd\\u202ee\\x9bf\\ud800\n" in said
    assert "Using a cached neff" in said


def test_pipe_is_read_once(model: Path) -> None:
    """Its bytes would be gone if a digest were made of them first."""
    expected = fresh(model)
    pipe = model.parent / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(pipe.write_text, A)
        assert compiled(pipe) == expected
        writing.result()
    assert not (model.parent / "cache").exists()


def test_folder_that_cannot_be_written(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = fresh(model)
    assert compiled(model, "--cache-dir", "/proc/no/cache") == expected
    assert "the result was not kept in the cache" in capsys.readouterr().err
