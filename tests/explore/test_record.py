"""A recording has the IR before and after each pass, with the source ops of each line."""

import re
from collections.abc import Iterable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from neuronir._xdsl import print_module
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions, compile_file
from neuronir.driver.phases import PHASES
from neuronir.explore.record import Recording, explore
from neuronir.explore.snapshot import LONGEST, SourceOp, _line
from neuronir.passes.tile.fuse import TileFusePass
from neuronir.targets.encoding.disassembler import disassemble
from tests.explore.models import MLP


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("explore") / "mlp.hlo"
    path.write_text(MLP)
    return str(path)


@pytest.fixture(scope="module")
def recording(model: str) -> Recording:
    return explore(model, "trn1", CompileOptions(tiling="never"))


def _ops(lines: Iterable[str]) -> list[str]:
    """The name of the op of each line, or empty."""
    return [
        found[1] if (found := re.match(r" *(?:%.* = )?([a-z]+\.\w+)", x)) else "" for x in lines
    ]


def test_snapshots_follow_each_other(recording: Recording) -> None:
    steps = recording.steps
    assert steps[0].name == "(read)" and not steps[0].before.lines
    phases = tuple(dict.fromkeys(step.phase for step in steps))
    assert phases == tuple(phase for phase in PHASES if phase != "tiled")
    for step, following in zip(steps, steps[1:], strict=False):
        if step.phase == following.phase:
            assert step.after is following.before
    for step in steps[1:]:
        assert step.changed == (step.after is not step.before)


def test_the_last_snapshot_is_the_result_of_the_compile(model: str, recording: Recording) -> None:
    options = CompileOptions(tiling="never", compile_to="synchronised")
    module = compile_file(model, "trn1", options).module
    stream = StringIO()
    print_module(module, stream)
    printed = stream.getvalue().rstrip("\n").split("\n")
    last = recording.steps[-2].after
    names = _ops(line.text for line in last.lines)
    assert names == _ops(printed) and "nc.matmul" in names
    assert last.ops == sum(1 for _ in module.walk()) - 1


def test_a_pass_is_shown_with_what_it_did(recording: Recording) -> None:
    cse = next(step for step in recording.steps if step.name == "hlo-cse" and step.changed)
    assert cse.before.ops - cse.after.ops == 1
    gone = [line.sources for line in cse.before.lines if line not in cse.after.lines]
    assert ("again",) in gone
    assert cse.summary.startswith("Merge ops with equal operands")
    assert cse.seconds > 0


def test_instructions_have_the_source_op_of_the_model(recording: Recording) -> None:
    lines = recording.steps[-2].after.lines
    matmuls = [line for line in lines if " nc.matmul" in line.text]
    assert matmuls and all("up" in line.sources for line in matmuls)
    assert SourceOp("up", "hlo.dot", "mlp/up", "mlp.hlo:6") in recording.sources


def test_the_last_step_is_the_program(model: str, recording: Recording) -> None:
    program = compile_file(model, "trn1", CompileOptions(tiling="never")).program
    assert program is not None
    step = recording.steps[-1]
    assert (step.phase, step.before) == ("binary", recording.steps[-2].after)
    texts = [line.partition("  ; ")[0] for line in disassemble(program)]
    assert [line.text for line in step.after.lines] == texts
    products = [line for line in step.after.lines if line.text.startswith("  matmul ")]
    assert products and all(line.sources == ("up",) for line in products)


def test_a_compile_without_passes_shows_what_was_read(model: str) -> None:
    found = explore(model, "trn1", CompileOptions(compile_to="parsed"))
    (step,) = found.steps
    assert step.name == "(read)" and "hlo.dot" in "".join(x.text for x in step.after.lines)


def test_the_kept_path_is_shown_once(model: str) -> None:
    found = explore(model, "trn1", CompileOptions(tiling="always"))
    names = [step.name for step in found.steps]
    assert names.count("tile-fuse") == 1 and names.count("lower-tile-to-nc") == 1
    assert "lower-hlo-to-nc" not in names
    only = found.only(["tiled"])
    assert only.steps == tuple(step for step in found.steps if step.phase == "tiled") != ()


def test_levels_with_several_orders_show_one(model: str) -> None:
    found = explore(model, "trn1", CompileOptions(optlevel=3, tiling="never"))
    assert [step.name for step in found.steps].count("nc-schedule") == 1


def test_a_failed_pass_ends_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "large.hlo"
    path.write_text(
        "HloModule m\n\nENTRY e {\n  x = f32[64,128] parameter(0)\n"
        '  ROOT y = f32[64,128] custom-call(x), custom_call_target="nobody"\n}\n'
    )
    found = explore(str(path), "trn1")
    assert found.failure is not None and not found.failure.internal
    *rest, last = found.steps
    assert last.failed and not any(step.failed for step in rest)
    assert last.after.lines


def test_watching_changes_nothing(model: str) -> None:
    options = CompileOptions()
    plain = compile_file(model, "trn1", options).program
    recorded = explore(model, "trn1", options)
    again = compile_file(model, "trn1", replace(options)).program
    assert plain == again
    phases = list(dict.fromkeys(step.phase for step in recorded.steps))
    assert phases[0] == "parsed" and phases[-1] == "binary"


def test_lines_that_differ_behind_the_cut_are_different() -> None:
    first, second = (_line("x" * LONGEST + end, None) for end in "ab")
    assert first.text == second.text and first != second


def test_long_lines_are_cut(recording: Recording) -> None:
    texts = (line.text for step in recording.steps for line in step.after.lines)
    assert all(len(text) <= LONGEST + 4 for text in texts)


def test_a_pass_that_fails_in_an_attempt_is_the_last_step(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attempts of the lowering paths are not recorded, but the failure of the only one is."""

    def fail(*_: object) -> None:
        raise NeuronError("NIR_LOW001", "a test")

    monkeypatch.setattr(TileFusePass, "apply", fail)
    found = explore(model, "trn1", CompileOptions(tiling="always", reproducers=False))
    assert found.failure is not None
    assert [step.name for step in found.steps if step.failed] == ["tile-fuse"]
