"""Files that were damaged at random: an error or a module, never a crash, a hang or gigabytes."""

import io
import random
import struct
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuronir.frontends.bindings import Bindings
from neuronir.frontends.tensorflow import File, import_tensorflow
from neuronir.frontends.tensorflow.schema import parse_binary, parse_text
from neuronir.frontends.tensorflow.sstable import crc32c, read_table
from tests.corpus import CORPUS
from tests.frontends.mutation import altered, survives
from tests.frontends.tensorflow.graphs import PLACEHOLDER, ints, node
from tests.frontends.tensorflow.stored import load, names

EDIT = st.tuples(
    st.integers(0, 1 << 16),
    st.sampled_from(("set", "flip", "drop", "copy", "grow", "cut")),
    st.integers(0, 255),
)
LARGE = (b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\x80\x80\x80\x80\x10")


def damaged(data: bytes, edits: list[tuple[int, str, int]]) -> bytes:
    """The data with edits: bytes set, flipped, dropped, repeated, large numbers put in, cut."""
    out = bytearray(data)
    for place, kind, value in edits:
        if not out:
            break
        at = place % len(out)
        if kind == "set":
            out[at] = value
        elif kind == "flip":
            out[at] ^= 1 << (value % 8)
        elif kind == "drop":
            del out[at : at + 1 + value % 8]
        elif kind == "copy":
            out[at:at] = out[value % len(out) :][: 1 + value % 30]
        elif kind == "grow":
            out[at : at + 1] = LARGE[value % len(LARGE)]
        else:
            del out[at:]
    return bytes(out)


@settings(max_examples=500)
@given(st.sampled_from(names()), st.lists(EDIT, min_size=1, max_size=6))
def test_graphs(name: str, edits: list[tuple[int, str, int]]) -> None:
    case = load(name)
    data = damaged(case.graph, edits)
    bindings = Bindings({n: a.shape for n, a in case.inputs}, outputs=[n for n, _ in case.outputs])

    def build() -> None:
        file = File(name, parse_binary("GraphDef", data, name))
        import_tensorflow(file, bindings).verify()

    survives(build)


def change_fields(count: int, seed: int) -> None:
    """Graphs whose fields changed, so that they are protobufs still."""
    rng = random.Random(seed)
    for _ in range(count):
        name = rng.choice(names())
        case = load(name)
        graph = parse_binary("GraphDef", case.graph, name)
        altered(graph, rng)
        data = graph.SerializeToString()
        inputs = {n: a.shape for n, a in case.inputs} if rng.random() < 0.5 else {}
        outputs = [n for n, _ in case.outputs] if rng.random() < 0.7 else None

        bindings = Bindings(inputs, outputs=outputs)
        survives(partial(_import, data, bindings))


def _import(data: bytes, bindings: Bindings) -> None:
    import_tensorflow(File("f", parse_binary("GraphDef", data, "f")), bindings).verify()


def test_changed_fields() -> None:
    change_fields(300, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 7))
def test_many_changed_fields(seed: int) -> None:
    change_fields(5_000, seed)


TEXT = "\n".join((PLACEHOLDER, ints("s", 3, 2), node("y", "Reshape", "x", "s"))).encode()


@settings(max_examples=200)
@given(st.lists(EDIT, min_size=1, max_size=6))
def test_text(edits: list[tuple[int, str, int]]) -> None:
    data = damaged(TEXT, edits).decode(errors="replace")
    survives(lambda: import_tensorflow(File("text", parse_text("GraphDef", data, "text"))))


@settings(max_examples=200)
@given(st.lists(EDIT, min_size=1, max_size=4), st.booleans())
def test_indexes(edits: list[tuple[int, str, int]], mend: bool) -> None:
    """With `mend` the checksum of the first block is made to fit, so that its entries are read."""
    path = CORPUS / "tf" / "lenet_savedmodel" / "variables" / "variables.index"
    whole = path.read_bytes()
    data = damaged(whole[:-48], edits) + whole[-48:]
    if mend:
        out = io.BytesIO(data)
        size = len(whole) // 2
        crc = crc32c(data[: size + 1])
        out.seek(min(size + 1, len(data)))
        out.write(struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF))
        data = out.getvalue()
    survives(lambda: read_table(data))


@settings(max_examples=100)
@given(st.lists(EDIT, min_size=1, max_size=6))
def test_saved_models(edits: list[tuple[int, str, int]]) -> None:
    folder = CORPUS / "tf" / "sepconv_bn_savedmodel"
    data = damaged((folder / "saved_model.pb").read_bytes(), edits)

    def build() -> None:
        saved = parse_binary("SavedModel", data, "saved_model.pb")
        for meta in saved.meta_graphs:
            file = File("saved", meta.graph_def, "", meta.signature_def, folder)
            import_tensorflow(file, Bindings({"keras_tensor_12": (1, 28, 28, 1)}))

    survives(build)
