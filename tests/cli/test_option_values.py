"""Wrong values of options: every program refuses them with one line that names a command that
exists.
"""

import importlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from neuronir.cli.cc_args import FLAGS
from neuronir.cli.program import USAGE, Parser

ADD = """HloModule add
ENTRY main {
  x = f32[4,8] parameter(0)
  y = f32[4,8] parameter(1)
  ROOT r = f32[4,8] add(x, y)
}
"""
CC = "neuron-cc compile m.hlo --framework XLA"
CCX = "neuronx-cc compile m.hlo --framework XLA --target trn1"
RUN = "neuron-sim run m.neff"
EMPTY = "''"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, in which the programs run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", "")
    monkeypatch.delenv(FLAGS, raising=False)
    (tmp_path / "m.hlo").write_text(ADD)
    return tmp_path


def main_of(program: str) -> Callable[[list[str]], int]:
    main: Callable[[list[str]], int]
    main = importlib.import_module(f"neuronir.cli.{program.replace('-', '_')}").main
    return main


def run(line: str) -> int:
    program, *words = line.split()
    return main_of(program)(["" if word == EMPTY else word for word in words])


def refused(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command line that is invalid, and return its message."""
    assert run(line) == USAGE
    out, err = capsys.readouterr()
    assert out == ""
    (message,) = err.splitlines()
    return message


@pytest.mark.parametrize(
    ("line", "option", "shown"),
    [
        (f"{CC} --sb_size x", "--sb_size", "x"),
        (f"{CC} --sb_size -5", "--sb_size", "-5"),
        (f"{CC} --enable-replication banana", "--enable-replication", "banana"),
        (f"{CC} --neuroncore-pipeline-cores 0", "--neuroncore-pipeline-cores", "0"),
        (f"{CC} --neuroncore-pipeline-cores 3.5", "--neuroncore-pipeline-cores", "3.5"),
        (f"{CC} --num-neuroncores=-1", "--num-neuroncores", "-1"),
        (f"{CC} --fast-math all none", "--fast-math", "none"),
        (f"{CC} --fast-math bogus", "--fast-math", "bogus"),
        (f"{CC} --fast-math {EMPTY}", "--fast-math", ""),
        ("neuron-cc compile --framework XLA --fast-math m.hlo", "--fast-math", "m.hlo"),
        (f"{CC} --verbose loud", "--verbose", "loud"),
        (f"{CC} --weights {EMPTY}", "--weights", ""),
        (f"{CC} --output {EMPTY}", "--output", ""),
        (f"{CC} --workdir {EMPTY}", "--workdir", ""),
        (f"{CCX} --hbm-scratchpad-page-size x", "--hbm-scratchpad-page-size", "x"),
        (f"{CCX} --internal-max-instruction-limit x", "--internal-max-instruction-limit", "x"),
        (f"{CCX} --implicit-integer-downcast bogus", "--implicit-integer-downcast", "bogus"),
        (f"{CCX} --implicit-integer-downcast dot,x", "--implicit-integer-downcast", "x"),
        (f"{CCX} --distribution-strategy bogus", "--distribution-strategy", "bogus"),
        (f"{CCX} --fast-math bogus --auto-cast all", "--fast-math", "bogus"),
        (f"{CCX} --fast-math all none --auto-cast all", "--fast-math", "none"),
        (f"{CCX} --verbose loud", "--verbose", "loud"),
        (f"{CCX} --jobs 0", "--jobs", "0"),
        (f"{CCX} --retries -1", "--retries", "-1"),
        (f"{RUN} --expect r.npz --rtol -1", "--rtol", "-1"),
        (f"{RUN} --expect r.npz --rtol nan", "--rtol", "nan"),
        (f"{RUN} --expect r.npz --atol inf", "--atol", "inf"),
        (f"{RUN} --max-iterations 0", "--max-iterations", "0"),
        (f"{RUN} --loop-iterations -1", "--loop-iterations", "-1"),
        (f"{RUN} --cores 0", "--cores", "0"),
        (f"{RUN} --inputs {EMPTY}", "--inputs", ""),
        ("neuron-sim disasm m.neff --engine vax", "--engine", "vax"),
        ("neuron-sim diff a.neff b.neff --top 0", "--top", "0"),
        ("neuron-sim sweep m.hlo --jobs 0", "--jobs", "0"),
        ("neuron-explore m.hlo --list --max-lines 0", "--max-lines", "0"),
        ("neuron-cache clear --older-than -1", "--older-than", "-1"),
        ("neuron_parallel_compile --command compile --jobs 0", "--jobs", "0"),
        (f"neuron-opt m.hlo -o {EMPTY}", "--output", ""),
    ],
)
def test_wrong_value(
    line: str, option: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(line, capsys)
    assert option in message
    assert shown in message


@pytest.mark.parametrize(
    "line",
    [
        f"{CC} --bogus",
        f"{CC} --sb_size x",
        f"{CC} --neuroncore-pipeline-cores 0",
        "neuron-cc compile",
        "neuron-cc list-operators --bogus",
        "neuron-cc bogus",
        f"{CCX} --bogus",
        f"{RUN} --bogus",
        f"{RUN} --timing-only --no-timing",
        "neuron-sim diff a.neff",
        "neuron-cache clear --older-than x",
        "neuron-packager info",
        "neuron-check",
        "neuron-opt m.hlo --bogus",
    ],
)
def test_the_help_that_a_message_names_has_the_options(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(line, capsys)
    found = re.search(r"\(see (.+) --help\)$", message)
    assert found is not None
    program, *command = found[1].split()
    assert program == line.split()[0]
    commands = [
        word for word in line.split()[1:2] if word in importlib_parser(program).command_names()
    ]
    assert command == commands
    assert main_of(program)([*command, "--help"]) == 0
    assert f"usage: {found[1]} " in capsys.readouterr().out


def importlib_parser(program: str) -> Parser:
    """Return the parser of a program."""
    module = importlib.import_module(f"neuronir.cli.{program.replace('-', '_')}")
    parser: Parser = module.build_parser()
    return parser


@pytest.mark.parametrize("level", ["INFO", "Warn", "35", "error"])
def test_levels_are_the_same_in_both_compilers(level: str) -> None:
    assert run(f"{CC} --verbose {level}") == 0
    assert run(f"{CCX} --verbose {level}") == 0


@pytest.mark.parametrize("name", ["nemo", "NEMO", "llm-training"])
@pytest.mark.parametrize("option", ["--distribution-strategy", "--distribution_strategy"])
def test_spellings_of_the_distribution_strategy(option: str, name: str) -> None:
    assert run(f"{CCX} {option} {name}") == 0


@pytest.mark.parametrize(
    "flags",
    [
        "--fast-math bogus",
        "--fast-math all none",
        "--verbose loud",
        "--neuroncore-pipeline-cores 0",
        "--sb_size x",
        "--fast-math",
        "other.hlo",
    ],
)
def test_errors_in_the_variable_name_it(
    flags: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FLAGS, flags)
    assert f"error: {FLAGS}: " in refused(CC, capsys)


def test_the_variable_may_hold_a_required_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FLAGS, "--framework XLA")
    assert run("neuron-cc compile m.hlo") == 0


def test_neuron_cc_names_its_counterpart_of_other_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "--auto-cast is an option of neuronx-cc" in refused(f"{CC} --auto-cast none", capsys)
    assert "--target is an option of neuronx-cc" in refused(f"{CC} --target inf1", capsys)
