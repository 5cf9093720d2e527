"""The NEFF container: round trips, determinism, and hostile files."""

import io
import json
import os
import tarfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuronir.dialects.nc.instruction import Affine, Call, Program, Variable
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import Stream
from neuronir.targets.encoding.encoding import encoding_for
from neuronir.targets.neff.header import Header, header_name
from neuronir.targets.neff.reader import load_neff, parse_neff, read_neff
from neuronir.targets.neff.writer import neff_header, neff_pieces, write_neff
from tests.neff.programs import copy_program, programs

INF1 = encoding_for(get_machine("inf1"))


def as_bytes(program: Program) -> bytes:
    return b"".join(bytes(piece) for piece in neff_pieces(program, "1.2.3"))


def with_constant() -> Program:
    program = copy_program()
    program.variables.append(Variable("w", "constant", 5, 65536, (5,), data=b"abcde"))
    program.variables.append(Variable("w2", "constant", 5, 65600, (5,), data=b"abcde"))
    return program


def members_of(raw: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(raw[1024:])) as archive:
        found = {}
        for info in archive.getmembers():
            stream = archive.extractfile(info)
            assert stream is not None
            found[info.name] = stream.read()
        return found


def signed(archive: bytes) -> bytes:
    """A file whose header and hash fit `archive`."""
    return Header(len(archive), header_name("m"), "NeuronIR 1").sign([archive]).pack() + archive


def repacked(infos: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for info, data in infos:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    # tarfile pads to 10 KiB; a NEFF ends after two empty blocks.
    body = stream.getvalue().rstrip(b"\0")
    return signed(body + bytes(-len(body) % 512) + bytes(1024))


def changed(name: str, change: Callable[[Any], Any]) -> bytes:
    """The file of `with_constant` with one JSON member changed, and the hash right again."""
    infos = []
    for member, data in members_of(as_bytes(with_constant())).items():
        if member == name:
            data = json.dumps(change(json.loads(data))).encode()
        infos.append((tarfile.TarInfo(member), data))
    return repacked(infos)


def test_constants_that_are_made_when_written(tmp_path: Path) -> None:
    """The file is the same, also through a pipe, which takes the header first."""
    program = with_constant()
    expected = as_bytes(program)
    for variable, pieces in zip(program.variables[-2:], ([b"ab", b"cde"], [b"abcde"]), strict=True):
        variable.data = Stream(5, lambda pieces=pieces: iter(pieces))  # type: ignore[misc]
    assert as_bytes(program) == expected
    assert neff_header(program, "1.2.3").pack() == expected[:1024]
    write_neff(program, tmp_path / "file", "1.2.3")
    assert (tmp_path / "file").read_bytes() == expected
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((tmp_path / "pipe").read_bytes)
        write_neff(program, tmp_path / "pipe", "1.2.3")
        assert read.result() == expected


def refuses(raw: bytes, code: str, text: str) -> None:
    with pytest.raises(NeuronError) as caught:
        parse_neff(raw, "x.neff")
    assert caught.value.code == code
    assert caught.value.message.startswith("neff is invalid: ")
    assert text in caught.value.message


@given(programs())
@settings(max_examples=40)
def test_round_trip(program: Program) -> None:
    raw = as_bytes(program)
    assert raw == as_bytes(program)
    try:
        assert parse_neff(raw).program == program
    except NeuronError as error:
        # Random symbols may be used outside their loop, or arguments that no call gives.
        assert error.code == "NIR_NEFF008"


def test_file_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "x.neff"
    write_neff(with_constant(), path, "1.2.3")
    assert read_neff(path) == with_constant()
    neff = load_neff(path)
    assert "does not load on a NeuronCore" in neff.header.name
    assert neff.header.feature_bits >> 63
    assert neff.header.build_version == "NeuronIR 1.2.3"
    assert neff.members["sg00/constants/00002.raw"] == 5
    assert "sg00/constants/00003.raw" not in neff.members  # equal constants are stored once
    assert list(tmp_path.iterdir()) == [path]


def test_archive_is_a_plain_deterministic_tar() -> None:
    raw = as_bytes(with_constant())
    with tarfile.open(fileobj=io.BytesIO(raw[1024:])) as archive:
        infos = archive.getmembers()
    assert [i.name for i in infos] == sorted(i.name for i in infos)
    assert {(i.mtime, i.uid, i.gid, i.uname) for i in infos} == {(0, 0, 0, "")}


def test_unrolled_program_round_trips() -> None:
    flat = INF1.legalise(copy_program())
    raw = b"".join(bytes(p) for p in neff_pieces(flat, "1", INF1))
    neff = parse_neff(raw)
    assert neff.program == flat and not neff.control_flow


@given(st.data())
@settings(max_examples=150)
def test_any_flipped_bit_is_found(data: st.DataObject) -> None:
    raw = bytearray(as_bytes(with_constant()))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(NeuronError, match="neff is invalid: "):
        parse_neff(bytes(raw))


@given(st.integers(0, 6000))
@settings(max_examples=60)
def test_any_truncation_is_found(size: int) -> None:
    raw = as_bytes(with_constant())
    with pytest.raises(NeuronError, match="neff is invalid: "):
        parse_neff(raw[: min(size, len(raw) - 1)])


@given(st.binary(max_size=3000))
@settings(max_examples=60)
def test_any_bytes_with_a_right_hash_are_handled(archive: bytes) -> None:
    with pytest.raises(NeuronError, match="neff is invalid: "):
        parse_neff(signed(archive))


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.floats()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.data())
@settings(max_examples=100)
def test_wrong_json_is_handled(data: st.DataObject) -> None:
    member = data.draw(st.sampled_from(["neff.json", "sg00/def.json", "sg00/sources.json"]))

    def change(value: Any) -> Any:
        if isinstance(value, list) or data.draw(st.integers(0, 9)) == 0:
            return data.draw(_JSON)
        key = data.draw(st.sampled_from(sorted(value)))
        inner = value[key]
        if key == "var":
            value = inner[data.draw(st.integers(0, len(inner) - 1))]
            key = data.draw(st.sampled_from(sorted(value)))
            value[key] = data.draw(_JSON)
            return {"var": inner, "dma_queue": {}}
        value[key] = data.draw(_JSON)
        return value

    try:
        parse_neff(changed(member, change))
    except NeuronError as error:
        assert error.message.startswith("neff is invalid: ")


def test_refusals() -> None:
    raw = as_bytes(copy_program())
    refuses(b"", "NIR_NEFF001", "0 bytes")
    refuses(b"\x7fELF" + raw[4:], "NIR_NEFF001", "NEFF header")
    refuses(raw[:40] + b"aws".ljust(128, b"\0") + raw[168:], "NIR_NEFF001", "made by 'aws'")
    later = bytearray(raw)
    later[24] = 2
    refuses(bytes(later), "NIR_NEFF003", "container version is 2.0")
    refuses(raw[:-1], "NIR_NEFF002", "truncated")
    refuses(raw + b"\0", "NIR_NEFF002", "too long")
    refuses(raw[:-600] + b"\1" + raw[-599:], "NIR_NEFF004", "hash")


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../b", "a//b", "a\nb", "a\\b"])
def test_hostile_names(name: str) -> None:
    refuses(repacked([(tarfile.TarInfo(name), b"x")]), "NIR_NEFF005", "file named")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices(kind: bytes) -> None:
    info = tarfile.TarInfo("a")
    info.type = kind
    info.linkname = "/etc/passwd"
    refuses(repacked([(info, b"")]), "NIR_NEFF005", "not a regular file")


def test_duplicate_member() -> None:
    twice = [(tarfile.TarInfo("a"), b""), (tarfile.TarInfo("a"), b"")]
    refuses(repacked(twice), "NIR_NEFF005", "twice")


def test_inconsistent_metadata() -> None:
    def variable(key: str, value: object, number: int = 0) -> Callable[[Any], Any]:
        def change(definition: Any) -> Any:
            definition["var"][number][key] = value
            return definition

        return change

    where = "sg00/def.json"
    refuses(changed(where, variable("size", 1 << 60)), "NIR_NEFF006", "'size'")
    refuses(changed(where, variable("shape", [1 << 30, 1 << 30])), "NIR_NEFF006", "'size'")
    refuses(changed(where, variable("strides", [-4, 4])), "NIR_NEFF006", "'strides'")
    refuses(changed(where, variable("dtype", "q4")), "NIR_NEFF006", "'dtype'")
    refuses(changed(where, variable("file_name", "../x", 2)), "NIR_NEFF005", "lacks '../x'")
    refuses(changed(where, variable("size", 6, 2)), "NIR_NEFF006", "has 5 bytes")
    refuses(changed("neff.json", lambda v: v | {"version": 9}), "NIR_NEFF003", "version is 9")
    refuses(changed("neff.json", lambda v: v | {"entry": "f"}), "NIR_NEFF008", "entry")


def test_recursion_and_undefined_symbols() -> None:
    program = copy_program()
    engine = next(iter(program.streams["body"]))
    program.streams["body"][engine].append(Call("main", ()))
    refuses(as_bytes(program), "NIR_NEFF008", "calls itself")
    program = copy_program()
    program.streams["main"][engine] = [Call("body", ())]
    refuses(as_bytes(program), "NIR_NEFF008", "takes 1 arguments")
    program = copy_program()
    program.streams["main"][engine] = [Call("body", (Affine(0, ((2, 1),)),))]
    refuses(as_bytes(program), "NIR_NEFF008", "i2 is used outside its loop")


def test_deep_calls() -> None:
    program = copy_program()
    engine = next(iter(program.streams["body"]))
    for i in range(5000):
        program.streams[f"f{i}"] = {engine: [Call(f"f{i + 1}", ())] if i < 4999 else []}
    refuses(as_bytes(program), "NIR_NEFF008", "nested more than 64 deep")


def test_unwritable_output(tmp_path: Path) -> None:
    with pytest.raises(NeuronError, match="NIR_OUTPUT"):
        write_neff(copy_program(), tmp_path / "no" / "x.neff")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(NeuronError, match="NIR_INPUT"):
        read_neff(tmp_path / "x.neff")
