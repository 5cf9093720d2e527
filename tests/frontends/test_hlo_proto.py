"""HloModuleProto: the same hlo module as the text that XLA prints of it, op for op."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("google.protobuf")

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp  # noqa: E402
from xdsl.dialects.func import FuncOp  # noqa: E402

import neuronir  # noqa: E402
from neuronir.cli import neuron_check, neuron_opt, neuronx_cc  # noqa: E402
from neuronir.dialects.hlo.interpreter import interpret  # noqa: E402
from neuronir.dialects.support.errors import NeuronError  # noqa: E402
from neuronir.dialects.support.walking import walk  # noqa: E402
from neuronir.frontends.hlo_proto import import_hlo_proto  # noqa: E402
from neuronir.frontends.hlo_proto.schema import parse_module  # noqa: E402
from neuronir.frontends.hlo_text import import_hlo_text  # noqa: E402
from tests.oracle import _backend, reprint  # noqa: E402

CORPUS = Path(__file__).resolve().parents[1] / "corpus" / "hlo"
LARGEST = 150_000
"""Characters of text of the programs that are compared outside of the slow set."""
NOT_IN_THE_PROTO = {
    *("hlo.is_scheduled", "hlo.allow_spmd_sharding_propagation_to_parameters"),
    *("hlo.allow_spmd_sharding_propagation_to_output", "hlo.num_partitions", "hlo.replica_count"),
}
"""Attributes of the module that are part of its configuration."""
NOT_KEPT = {
    *("hlo.tables", "hlo.sharding", "hlo.api_version", "hlo.operand_layout_constraints"),
    *("hlo.output_to_operand_aliasing",),
}
"""What no pass reads."""
PROGRAM = """HloModule small

ENTRY main {
  x = f32[2,3]{1,0} parameter(0)
  c = f32[2,3]{0,1} constant({ { 1, 2, 3 }, { 4, 5, 6 } })
  ROOT y = f32[2,3]{1,0} add(x, c)
}
"""


def files() -> list[Any]:
    found = []
    for path in sorted(CORPUS.rglob("*.hlo")):
        marks = [pytest.mark.slow] if path.stat().st_size > LARGEST else []
        found.append(pytest.param(path, id=f"{path.parent.name}/{path.stem}", marks=marks))
    return found


def proto_of(text: str) -> bytes:
    _, hlo, _ = _backend()
    return bytes(hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())


def described(module: ModuleOp) -> list[Any]:
    """Each op: its name, types, properties and attributes."""
    found = []
    for op in walk(module):
        left_out = NOT_KEPT | (NOT_IN_THE_PROTO if isinstance(op, ModuleOp) else set())
        if isinstance(op, ModuleOp):
            left_out = left_out | {"hlo.frontend_attributes"}
        kept = {k: v for k, v in op.attributes.items() if k not in left_out}
        properties = dict(op.properties)
        if isinstance(op, FuncOp) and op.arg_attrs is not None:
            properties["arg_attrs"] = ArrayAttr(
                DictionaryAttr({k: v for k, v in one.data.items() if k not in NOT_KEPT})
                for one in op.arg_attrs
            )
        found.append((op.name, [r.type for r in op.results], properties, kept))
    return found


@pytest.mark.parametrize("path", files())
def test_like_the_text(path: Path) -> None:
    text = path.read_text()
    from_text = import_hlo_text(reprint(text), "x")
    from_proto = import_hlo_proto(proto_of(text), "x")
    ours, theirs = described(from_proto), described(from_text)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one == other


def test_a_constant_in_another_layout() -> None:
    x = np.zeros((2, 3), np.float32)
    (found,) = interpret(import_hlo_proto(proto_of(PROGRAM), "x"), [x])
    np.testing.assert_array_equal(found, [[1, 2, 3], [4, 5, 6]])


def test_constants_of_all_types() -> None:
    lines, names = [], []
    for i, (kind, values) in enumerate(
        {
            **dict.fromkeys(("s8", "s16", "s32", "s64"), "-3, 4"),
            **dict.fromkeys(("u8", "u16", "u32", "u64"), "3, 4"),
            **dict.fromkeys(("f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e5m2"), "-0.5, inf"),
            "pred": "true, false",
            "c64": "(1, -2), (0, 3)",
        }.items()
    ):
        values = values.replace("inf", "2") if kind == "f8e4m3fn" else values
        lines.append(f"  c{i} = {kind}[2] constant({{{values}}})")
        names.append(f"c{i}")
    types = ", ".join(line.split()[2] for line in lines)
    root = f"  ROOT r = ({types}) tuple({', '.join(names)})"
    text = "\n".join(["HloModule m", "ENTRY main {", *lines, root, "}", ""])
    ours = interpret(import_hlo_proto(proto_of(text), "x"), [])
    theirs = interpret(import_hlo_text(text, "x"), [])
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_the_call_that_frameworks_make(tmp_path: Path) -> None:
    source, output = tmp_path / "x.hlo_module.pb", tmp_path / "x.neff"
    source.write_bytes(proto_of(PROGRAM))
    words = ["compile", "--framework=XLA", str(source), "--output", str(output)]
    assert neuronx_cc.main([*words, "--target=trn1", "--verbose=35", "--no-cache"]) == 0
    x = np.ones((2, 3), np.float32)
    (found,) = neuronir.load(output)(x).values()
    np.testing.assert_array_equal(found, [[2, 3, 4], [5, 6, 7]])


def test_the_other_programs_read_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(tmp_path / "x.pb")
    Path(source).write_bytes(proto_of(PROGRAM))
    assert neuron_check.main([source, "--framework", "XLA", "--target", "trn1"]) == 0
    assert "add" in capsys.readouterr().out
    words = ["compile", source, "--framework", "XLA", "--target", "trn1", "--report", "unsupported"]
    assert neuronx_cc.main(words) == 0
    assert "all operators are supported" in capsys.readouterr().out
    assert neuron_opt.main([source, "-f", "hlo"]) == 0
    assert "hlo.add %x, %c" in capsys.readouterr().out


def test_a_proto_within_an_hlo_proto() -> None:
    data = proto_of(PROGRAM)
    length, prefix = len(data), bytearray(b"\x0a")
    while length > 127:
        prefix.append(length & 127 | 128)
        length >>= 7
    whole = bytes(prefix) + bytes([length]) + data
    assert described(import_hlo_proto(whole, "x")) == described(import_hlo_proto(data, "x"))


def refusal(data: bytes) -> NeuronError:
    with pytest.raises(NeuronError) as caught:
        import_hlo_proto(data, "bad.pb")
    return caught.value


def changed(change: Any) -> bytes:
    """The program with its proto changed."""
    module = parse_module(proto_of(PROGRAM), "x")
    change(module.computations[0].instructions)
    return bytes(module.SerializeToString())


def test_what_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = proto_of(PROGRAM)
    assert refusal(data[: len(data) // 2]).code == "NIR_HLO021"
    assert "neither HLO text nor an HloModuleProto" in refusal(b"\x00\x01\x02").message
    bad = tmp_path / "bad.pb"
    bad.write_bytes(data[:40])
    words = ["compile", "--framework", "XLA", str(bad), "--output", str(tmp_path / "y.neff")]
    assert neuronx_cc.main([*words, "--target", "trn1", "--no-cache"]) == 1
    text = capsys.readouterr().err
    assert "NIR_HLO021" in text and "Traceback" not in text


@pytest.mark.parametrize(
    ("change", "code", "text"),
    (
        (lambda i: setattr(i[2], "opcode", "no-such"), "NIR_HLO003", "unknown opcode 'no-such'"),
        (lambda i: i[2].operand_ids.append(99), "NIR_HLO021", "instruction 'y.*not defined"),
        (lambda i: i[2].operand_ids.pop(), "NIR_HLO010", "takes 2 operands, 1 given"),
        (lambda i: i[1].literal.f32s.pop(), "NIR_HLO008", "5 values"),
        (lambda i: setattr(i[0].shape, "element_type", 77), "NCC_ESPP004", "type 77"),
        (lambda i: setattr(i[1].literal.shape, "element_type", 21), "NCC_ESPP004", "of type s4"),
        (lambda i: setattr(i[1], "id", i[0].id), "NIR_HLO021", "two instructions have one id"),
        (
            lambda i: i[2].precision_config.operand_precision.append(9),
            "NIR_HLO021",
            "instruction 'y': precision 9 is not known",
        ),
        (lambda i: setattr(i[0], "parameter_number", 3), "NIR_HLO006", "none is parameter\\(0\\)"),
    ),
)
def test_protos_that_make_no_sense(change: Any, code: str, text: str) -> None:
    import re

    error = refusal(changed(change))
    assert error.code == code
    assert re.search(text, error.message)
    assert str(error.location).startswith("bad.pb")
