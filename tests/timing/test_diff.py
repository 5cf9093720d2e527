"""neuron-sim diff: ops are found in the other compile, and the changes add up."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from neuronir.cli.neuron_sim import main
from neuronir.dialects.nc.instruction import Instruction, Program, Source
from neuronir.dialects.nc.items import instructions_of
from neuronir.driver import CompileOptions, compile_file
from neuronir.targets.simulator.diff import Side, compare_reports
from neuronir.targets.simulator.diff_text import diff_text
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.report_rows import Report
from neuronir.targets.simulator.timing import simulate_timing
from tests.acceptance.programs import binary, decoded, model


def _side(program: Program) -> Side:
    return Side(program, build_report(simulate_timing(program, record=True)))


def _compared(a: Program, b: Program) -> Report:
    found = compare_reports(_side(a), _side(b))
    rows = [*found["ops"], *found["only_a"], *found["only_b"]]
    assert sum(r["change_us"] for r in rows) == pytest.approx(found["total_time_us"][2], abs=1e-6)
    for name in ("tensor_us", "dma_us", "hbm_read_bytes"):
        for at, side in enumerate((_side(a), _side(b))):
            whole = sum(row[name] for row in side.report["ops"])
            assert sum(row[name][at] for row in rows) == pytest.approx(whole)
    return found


def _changed(program: Program, sources: list[Source], model: str) -> Program:
    """The same instructions with other sources, made from another model."""
    return replace(program, sources=sources, metadata={**program.metadata, "input_sha256": model})


def _numbered_anew(program: Program, by: int) -> list[Source]:
    """Every op has the name that another one had."""

    def anew(name: str) -> str:
        stem, dot, number = name.rpartition(".")
        return f"{stem}.{int(number) + by}" if dot and number.isdigit() else name

    return [
        replace(s, name=anew(s.name), group=" + ".join(map(anew, s.group.split(" + "))))
        for s in program.sources
    ]


def test_a_compile_and_itself_are_the_same() -> None:
    program = binary("hf_bert_tiny")
    found = _compared(program, program)
    assert not found["only_a"] and not found["only_b"]
    assert all(row["change_us"] == 0 for row in found["ops"])
    text = diff_text(found, ("x", "y"))
    assert "the same" in text and "slower" not in text and "-0.00" not in text


def test_another_precision_changes_ops_that_both_have() -> None:
    found = _compared(binary("mlp", "none"), binary("mlp", "all"))
    assert found["matched_by"] == "name"
    assert found["total_time_us"][2] < 0
    dots = [row for row in found["ops"] if row["opcode"] == "dot"]
    assert sum(row["tensor_us"][2] for row in dots) < 0


def test_ops_with_other_numbers_are_found_in_order() -> None:
    program = binary("hf_bert_tiny")
    found = _compared(program, _changed(program, _numbered_anew(program, 1), "other"))
    assert found["matched_by"] == "order"
    assert not found["only_a"] and not found["only_b"]
    assert all(row["change_us"] == 0 for row in found["ops"])
    assert all(abs(row["tensor_us"][2]) < 1e-9 for row in found["ops"])


def test_an_op_that_was_fused_is_compared_with_its_group() -> None:
    program = binary("hf_bert_tiny")
    rows = {row["name"]: row for row in build_report(simulate_timing(program))["ops"]}
    moved = next(row for row in rows.values() if row["opcode"] == "layer_norm")
    home = next(row for row in rows.values() if row["opcode"] == "dot")
    sources = [
        replace(s, name=home["name"], group=f"{home['name']} + {moved['name']}")
        if s.name in (moved["name"], home["name"])
        else s
        for s in program.sources
    ]
    found = _compared(program, replace(program, sources=sources))
    unit = next(row for row in found["ops"] if moved["name"] in row["ops_a"])
    assert sorted(unit["ops_a"]) == sorted((moved["name"], home["name"]))
    assert unit["ops_b"] == [home["name"]]
    assert unit["change_us"] == pytest.approx(0, abs=1e-9)
    assert unit["vector_us"][2] == pytest.approx(0, abs=1e-9)
    # The other way round an op was taken out of a group.
    back = _compared(replace(program, sources=sources), program)
    assert any(
        moved["name"] in row["ops_b"] and home["name"] in row["ops_a"] for row in back["ops"]
    )


def test_an_op_that_one_compile_has_alone_is_listed() -> None:
    program = binary("mlp")
    names = [row["name"] for row in build_report(simulate_timing(program))["ops"]]
    gone = names[-1]
    sources = [
        replace(s, name="novel.1", opcode="novel") if s.name == gone else s for s in program.sources
    ]
    found = _compared(program, _changed(program, sources, "other"))
    assert [row["name"] for row in found["only_a"]] == [gone]
    assert [row["name"] for row in found["only_b"]] == ["novel.1"]
    text = diff_text(found, ("x", "y"))
    assert "only in a" in text and "only in b" in text and "novel.1" in text


def test_an_op_that_takes_longer_is_named() -> None:
    slow = decoded(compile_file(str(model("mlp").path), "trn1", CompileOptions()))
    instructions = [
        i
        for streams in slow.streams.values()
        for items in streams.values()
        for i in instructions_of(items)
        if i.opcode == "activation"
    ]
    victim: Instruction = instructions[-1]
    name = slow.sources[victim.source].name
    before = decoded(compile_file(str(model("mlp").path), "trn1", CompileOptions()))
    # 64 times as many elements, of the same bytes.
    for operand, patterns in (("dst", victim.dst), ("src", victim.src)):
        longer = tuple(
            ap and replace(ap, free=((0, 64), *ap.free[-3:])) if ap and ap.elements > 1 else ap
            for ap in patterns
        )
        setattr(victim, operand, longer)
    found = _compared(before, slow)
    worst = found["ops"][0]
    assert name in worst["ops_a"] and worst["change_us"] > 0
    assert worst["scalar_us"][2] > 0


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("diff")
    found = []
    for cast in ("none", "all"):
        options = CompileOptions(auto_cast=cast)
        found.append(str(folder / f"{cast}.neff"))
        compile_file(str(model("mlp").path), "trn1", options).write(found[-1])
    return found


def test_the_command(files: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("bokeh")
    report, page = tmp_path / "d.json", tmp_path / "d.html"
    assert main(["diff", *files, "--report", str(report), "--html", str(page), "--top", "2"]) == 0
    text = capfd.readouterr().out
    assert "faster" in text and "on the critical path" in text
    found = json.loads(report.read_text())
    assert found["total_time_us"][2] < 0
    shown = page.read_text()
    assert str(tmp_path) not in shown and "none.neff" in shown
    assert main(["diff", *files, "--html", str(page)]) == 0
    assert page.read_text() == shown
    capfd.readouterr()
    assert main(["diff", *files, "--top", "0"]) == 2
    assert main(["diff", files[0], "missing.neff"]) == 1
