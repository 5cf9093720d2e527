"""The console scripts, from their first moment."""

import pytest

from neuronir.cli import start


def test_ctrl_c_during_the_imports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(start, "import_module", interrupted)
    assert start.neuronx_cc() == 130
    assert capsys.readouterr().err == "neuronx-cc: interrupted\n"


@pytest.mark.parametrize("name", ["neuron_opt", "neuron_sim", "neuronx_cc"])
def test_each_script_starts_its_program(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [name, "--version"])
    assert getattr(start, name)() == 0
    assert capsys.readouterr().out
