"""Models that are wrong: one clear error each, with the node's name where there is one."""

import shutil
from pathlib import Path

import pytest

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.bindings import Bindings, parse_io_config
from neuronir.frontends.tensorflow import import_tensorflow, read_file
from tests.corpus import CORPUS
from tests.frontends.tensorflow.graphs import PLACEHOLDER, attr, file_of, imported, ints, node


def fails(code: str, *texts: str, nodes: tuple[str, ...], bindings: Bindings | None = None) -> None:
    with pytest.raises(NeuronError) as caught:
        imported(*nodes, bindings=bindings)
    shown = caught.value.render()
    assert caught.value.code == code, shown
    assert caught.value.location is not None, shown
    for text in texts:
        assert text in shown, shown


def test_cycles() -> None:
    a, b = node("a", "Relu", "b"), node("b", "Relu", "a")
    fails("NIR_TF002", "has a cycle", "'a' <- 'b' <- 'a'", nodes=(PLACEHOLDER, a, b))
    own = node("a", "AddV2", "x", "a")
    fails("NIR_TF002", "has a cycle", nodes=(PLACEHOLDER, own))


def test_missing_and_doubled_nodes() -> None:
    missing = node("y", "AddV2", "x", "nowhere")
    fails("NIR_TF002", "node 'y' (AddV2)", "'nowhere'", nodes=(PLACEHOLDER, missing))
    twice = node("x", "Relu", "x")
    fails("NIR_TF002", "two nodes named 'x'", nodes=(PLACEHOLDER, twice))
    output = node("y", "Relu", "a:3")
    fails("NIR_TF002", "no output 3", nodes=(PLACEHOLDER, node("a", "Relu", "x"), output))
    fails("NIR_IMP001", "node 'y' (Relu)", "input 0 is missing", nodes=(node("y", "Relu"),))


def test_unsupported_operators_are_listed_together() -> None:
    nodes = (
        PLACEHOLDER,
        node("a", "Bogus", "x"),
        node("b", "Where", "a"),
        node("c", "QuantizeV2", "b"),
        node("d", "Bogus", "c"),
    )
    texts = ("3 operators are", "Bogus ('a' and 1 more): it is not supported", "depends on data")
    fails("NCC_EUOC002", *texts, "int8-quantised", nodes=nodes)


def test_quantised_types() -> None:
    quantised = PLACEHOLDER.replace("DT_FLOAT", "DT_QINT8")
    nodes = (quantised, node("y", "Relu", "x"))
    fails("NIR_IMP001", "input 'x:0'", "qint8", "floating point", nodes=nodes)


def test_variables_are_not_written() -> None:
    nodes = (
        PLACEHOLDER,
        node("v", "VarHandleOp"),
        node("w", "AssignVariableOp", "v", "x"),
        node("y", "Relu", "x", "^w"),
    )
    fails("NCC_EUOC002", "AssignVariableOp", "variables are not written", nodes=nodes)


def test_unfrozen_variables() -> None:
    nodes = (PLACEHOLDER, node("v", "VariableV2"), node("y", "Identity", "v"))
    fails("NIR_TF006", "not frozen", "SavedModel", nodes=nodes)


def test_unknown_dimensions_are_named_together() -> None:
    open_ = PLACEHOLDER.replace("size: 2", "size: -1")
    other = open_.replace('"x"', '"z"')
    nodes = (open_, other, node("y", "AddV2", "x", "z"))
    fails("NIR_TF003", "'x:0' [-1, 3]", "'z:0' [-1, 3]", "--input-shape x:0=", nodes=nodes)
    bindings = parse_io_config('{"inputs": {"x": [[4, 3], "float32"], "z:0": [[4, 3], "float32"]}}')
    assert "tensor<4x3xf32>" in imported(*nodes, bindings=bindings)


def test_bindings_that_do_not_fit() -> None:
    nodes = (PLACEHOLDER, node("y", "Relu", "x"))
    wrong = Bindings({"x": (2, 4)})
    fails(
        "NIR_TF004", "[2, 4] does not fit input 'x', which is [2, 3]", nodes=nodes, bindings=wrong
    )
    wrong = Bindings({"x": (2, 3)}, {"x": "float16"})
    fails("NIR_TF004", "float32", "'float16'", nodes=nodes, bindings=wrong)
    wrong = Bindings({"x": (2, 3)}, {"x": "floaty"})
    fails("NIR_TF004", "unknown type 'floaty'", nodes=nodes, bindings=wrong)
    wrong = Bindings({"q": (2, 3)})
    fails("NIR_TF004", "no tensor 'q'", "its placeholders: x", nodes=nodes, bindings=wrong)
    wrong = Bindings(outputs=["y:q"])
    fails("NIR_TF002", "'y:q' does not name a tensor", nodes=nodes, bindings=wrong)


def test_shapes_and_values_that_do_not_fit() -> None:
    reshaped = node("y", "Reshape", "x", "s")
    fails("NIR_IMP001", "'y' (Reshape)", "[2, 3]", nodes=(PLACEHOLDER, ints("s", 4, 4), reshaped))
    axis = node("y", "Sum", "x", "s")
    fails("NIR_IMP001", "axis 7", nodes=(PLACEHOLDER, ints("s", 7), axis))
    data = node("y", "Reshape", "x", "i")
    cast = node("i", "Cast", "x", attrs=attr("DstT", "type: DT_INT32"))
    fails(
        "NIR_IMP002", "the shape", "depends on the data of 'x:0'", nodes=(PLACEHOLDER, cast, data)
    )
    sizes = node("y", "Fill", "s", "t")
    huge = (ints("s", 2147483647, 2147483647), ints("t", 1), sizes)
    fails("NIR_IMP001", "too large", nodes=huge)


def test_a_function_that_calls_itself() -> None:
    call = attr("f", 'func { name: "loop" }')
    library = (
        'library { function { signature { name: "loop" input_arg { name: "a" } '
        'output_arg { name: "r" } } ret { key: "r" value: "c:output:0" } '
        f'node_def {{ name: "c" op: "PartitionedCall" input: "a" {call} }} }} }}'
    )
    start = node("y", "PartitionedCall", "x", attrs=call)
    fails("NIR_TF002", "nested more than", "calls itself", nodes=(PLACEHOLDER, start, library))


def test_functions_that_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each function calls the next one twice: 2 to the power of 40 nodes."""
    monkeypatch.setattr("neuronir.frontends.tensorflow.importer._MOST_NODES", 2000)
    functions = []
    for i in range(40):
        call = attr("f", f'func {{ name: "f{i + 1}" }}')
        body = [
            f'node_def {{ name: "{n}" op: "PartitionedCall" input: "{a}" {call} }}'
            for n, a in (("c", "a"), ("d", "c:output:0"))
        ]
        if i == 39:
            body = ['node_def { name: "d" op: "Relu" input: "a" }']
        functions.append(
            f'function {{ signature {{ name: "f{i}" input_arg {{ name: "a" }} '
            f'output_arg {{ name: "r" }} }} ret {{ key: "r" value: "d:output:0" }} '
            + " ".join(body)
            + " }"
        )
    start = node("y", "PartitionedCall", "x", attrs=attr("f", 'func { name: "f0" }'))
    library = "library { " + " ".join(functions) + " }"
    fails("NIR_TF002", "more than 2000 nodes", nodes=(PLACEHOLDER, start, library))


def test_malformed_loops() -> None:
    frame = attr("frame_name", 's: "f"')
    nodes = (
        PLACEHOLDER,
        node("e", "Enter", "x", attrs=frame),
        node("m", "Merge", "e", "n"),
        node("n", "NextIteration", "m"),
        node("y", "Exit", "m"),
    )
    fails("NIR_TF002", "malformed loop", "'y' (Exit)", nodes=nodes)


def test_files_that_are_no_models(tmp_path: Path) -> None:
    def refuses(code: str, path: Path, *texts: str) -> None:
        with pytest.raises(NeuronError) as caught:
            read_file(str(path))
        assert caught.value.code == code
        for text in texts:
            assert text in caught.value.render()

    refuses("NIR_INPUT", tmp_path / "absent.pb", "absent.pb")
    refuses("NIR_TF001", tmp_path, "has no saved_model.pb")
    for name, data in (("a.pb", b"\x0a\xff\xff"), ("b.pb", b"hello"), ("c.pb", b"")):
        (tmp_path / name).write_bytes(data)
        refuses("NIR_TF001", tmp_path / name, name)
    (tmp_path / "d.pbtxt").write_text("node { name: 3 }")
    refuses("NIR_TF001", tmp_path / "d.pbtxt", "text form", "1:")
    (tmp_path / "e.pbtxt").write_bytes(b"\xff\xfe")
    refuses("NIR_TF001", tmp_path / "e.pbtxt", "is not text")


def _saved(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    shutil.copytree(CORPUS / "tf" / "lenet_savedmodel", folder)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    folder.chmod(0o755)
    return folder


LENET = Bindings({"keras_tensor_4": (1, 28, 28, 1)})


def _saved_fails(folder: Path, code: str, *texts: str, bindings: Bindings = LENET) -> None:
    with pytest.raises(NeuronError) as caught:
        import_tensorflow(read_file(str(folder)), bindings)
    assert caught.value.code == code, caught.value.render()
    for text in texts:
        assert text in caught.value.render(), caught.value.render()


def test_damaged_checkpoints(tmp_path: Path) -> None:
    folder = _saved(tmp_path)
    shard = folder / "variables" / "variables.data-00000-of-00001"
    index = folder / "variables" / "variables.index"
    whole, table = shard.read_bytes(), bytearray(index.read_bytes())
    shard.write_bytes(whole[:1000])
    _saved_fails(folder, "NIR_TF006", "truncated")
    shard.unlink()
    _saved_fails(folder, "NIR_TF006", "variables.data-00000-of-00001")
    table[5] ^= 1
    index.write_bytes(table)
    _saved_fails(folder, "NIR_TF006", "checksum")
    index.write_bytes(table[:-3])
    _saved_fails(folder, "NIR_TF006", "damaged")
    index.unlink()
    _saved_fails(folder, "NIR_TF006", "cannot be read")


def test_names_of_a_signature(tmp_path: Path) -> None:
    """Its tensors may be written with `:0`, and an error names them."""
    file = read_file(str(_saved(tmp_path)))
    ((name, shape),) = LENET.shapes.items()
    assert import_tensorflow(file, Bindings({f"{name}:0": shape})) is not None
    with pytest.raises(NeuronError, match=f"inputs of the signature: {name}; outputs: "):
        import_tensorflow(file, Bindings({"q": shape}))


def test_signatures(tmp_path: Path) -> None:
    folder = _saved(tmp_path)
    bindings = Bindings(LENET.shapes, signature="other")
    _saved_fails(folder, "NIR_TF005", "'other'", "serve, serving_default", bindings=bindings)
    named = Bindings(LENET.shapes, signature="serve")
    assert import_tensorflow(read_file(str(folder)), named) is not None
    file = file_of(PLACEHOLDER, node("y", "Relu", "x"))
    with pytest.raises(NeuronError, match="is not a SavedModel"):
        import_tensorflow(file, Bindings(signature="serve"))


def test_a_variable_file_outside_of_the_folder_is_never_named() -> None:
    """Shards are found by number: an index cannot name a path."""
    from neuronir.frontends.tensorflow.schema import parse_binary

    fields = parse_binary("BundleEntryProto", b"", "entry").DESCRIPTOR.fields
    assert not [f.name for f in fields if f.type == f.TYPE_STRING]


def test_damage_that_fuzzing_found() -> None:
    """Ranks, index vectors, windows and numbers of bits that no graph should have."""
    flat = ints("s", 1, 2)
    cast = node("i", "Cast", "s2", attrs=attr("DstT", "type: DT_FLOAT"))
    joined = node("y", "ConcatV2", "x", "i", "axis")
    casts = (ints("s2", 1, 2), cast, ints("axis", 1))
    fails("NIR_IMP001", "ranks [1, 2]", nodes=(PLACEHOLDER, *casts, joined))

    long = PLACEHOLDER.replace("size: 2", "size: 1000000").replace('"x"', '"z"')
    index = node("i", "Cast", "z", attrs=attr("DstT", "type: DT_INT32"))
    cut = node("y", "StridedSlice", "x", "i", "i", "s")
    fails("NIR_IMP001", "3000000 indices", nodes=(PLACEHOLDER, long, flat, index, cut))

    fake = node(
        "y", "FakeQuantWithMinMaxArgs", "x", attrs=attr("num_bits", "i: 4611686018427387904")
    )
    fails("NIR_IMP001", "num_bits", nodes=(PLACEHOLDER, fake))

    ways = (node("sw", "Switch", "x"), node("y", "Merge", "sw", "sw:1"))
    fails("NIR_TF002", "'sw' (Switch) lacks an input", nodes=(PLACEHOLDER, *ways))

    wide = PLACEHOLDER.replace(
        "{ size: 3 }", "{ size: 2147483647 } dim { size: 1 } dim { size: 1 }"
    )
    resized = node("y", "ResizeBilinear", "x", "s")
    fails("NIR_IMP001", "too large to be resized", nodes=(wide, ints("s", 4, 4), resized))
