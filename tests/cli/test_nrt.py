"""Checks of a runtime: NaN in outputs, status codes, and the files of a binary."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from neuronir.cli import neuron_packager, neuron_sim, neuronx_cc
from neuronir.cli.nrt_status import NrtStatus, status_of_error, status_of_exit
from neuronir.dialects.support.npz import npz_bytes
from neuronir.targets.neff.pipeline import read_members
from neuronir.targets.simulator.not_a_number import nan_outputs

SOURCE = """HloModule m

ENTRY e {
  x = f32[4,8] parameter(0)
  l = f32[4,8] log(x), metadata={op_name="model/log" source_file="model.py" source_line=3}
  ROOT y = f32[4,8] add(l, x)
}
"""
PRODUCT = """HloModule m

ENTRY e {
  x = f32[128,512] parameter(0)
  w = f32[512,512] parameter(1)
  ROOT y = f32[128,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


@pytest.fixture(scope="module")
def neff(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("nrt")
    (folder / "m.hlo").write_text(SOURCE)
    words = ["compile", str(folder / "m.hlo"), "--framework", "XLA", "--target", "trn1"]
    assert neuronx_cc.main([*words, "-o", str(folder / "m.neff")]) == 0
    return str(folder / "m.neff")


def inputs(folder: Path, *, negative: bool = False, nan: bool = False) -> list[str]:
    x = np.ones((4, 8), np.float32)
    if negative:
        x[1, 2] = x[3, 0] = -1
    if nan:
        x[0, 1] = np.nan
    (folder / "in.npz").write_bytes(npz_bytes({"arg0": x}))
    return ["--inputs", str(folder / "in.npz"), "--no-timing"]


def test_outputs_with_nan_are_reported(
    neff: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert neuron_sim.main(["run", neff, *inputs(tmp_path)]) == 0
    assert "NaN" not in capsys.readouterr().err
    assert neuron_sim.main(["run", neff, *inputs(tmp_path, negative=True)]) == 0
    said = capsys.readouterr().err
    assert "has 2 NaN of 32 values, the first one at [1, 2]" in said and "--check-nan" in said


def test_first_instruction_with_nan_is_named(
    neff: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", neff, "--check-nan"]
    assert neuron_sim.main([*words, *inputs(tmp_path)]) == 0
    assert neuron_sim.main([*words, *inputs(tmp_path, negative=True), "--check-races"]) == 1
    said = capsys.readouterr().err
    assert "error: [NIR_SIM035] output " in said
    assert "made first by act activation(" in said and "from 'l' (model/log, model.py:3)" in said
    assert neuron_sim.main([*words, *inputs(tmp_path, nan=True)]) == 1
    assert "the inputs or constants have NaN" in capsys.readouterr().err


def test_sums_carry_nan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A matmul that adds to sums with NaN has not made them."""
    (tmp_path / "m.hlo").write_text(PRODUCT)
    words = ["compile", str(tmp_path / "m.hlo"), "--framework", "XLA", "--target", "trn1"]
    assert neuronx_cc.main([*words, "-o", str(tmp_path / "m.neff")]) == 0
    words = ["run", str(tmp_path / "m.neff"), "--no-timing", "--check-nan"]
    for block in range(4):  # of 128 products, which are summed one after the other
        x, w = np.ones((128, 512), np.float32), np.ones((512, 512), np.float32)
        x[3, 128 * block + 5] = np.nan
        (tmp_path / "in.npz").write_bytes(npz_bytes({"arg0": x, "arg1": w}))
        assert neuron_sim.main([*words, "--inputs", str(tmp_path / "in.npz")]) == 1
        assert "the inputs or constants have NaN" in capsys.readouterr().err


@pytest.mark.parametrize(
    "negative, options, status, name",
    [
        (False, [], 0, "NRT_SUCCESS (0)"),
        (True, [], 235, "NRT_EXEC_COMPLETED_WITH_NUM_ERR (1003)"),
        (True, ["--check-nan"], 235, "NRT_EXEC_COMPLETED_WITH_NUM_ERR (1003)"),
        (False, ["--inputs", "no.npz"], 234, "NRT_EXEC_BAD_INPUT (1002)"),
        (False, ["--timing-only"], 2, "NRT_INVALID (2)"),
    ],
)
def test_status_of_a_run(
    negative: bool,
    options: list[str],
    status: int,
    name: str,
    neff: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["run", neff, *inputs(tmp_path, negative=negative), "--nrt-status", *options]
    assert neuron_sim.main(words) == status
    assert capsys.readouterr().out.endswith(f"NRT status: {name}\n")


def test_status_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.neff"
    bad.write_bytes(bytes(2000))
    assert neuron_sim.main(["run", str(bad), "--nrt-status", "--timing-only"]) == 2
    assert "NRT status: NRT_INVALID (2)" in capsys.readouterr().out


def test_table_of_statuses() -> None:
    found = {
        code: status_of_error(code).name.removeprefix("NRT_")
        for code in (
            "NIR_NEFF003",
            "NIR_NEFF004",
            "NIR_SIM001",
            "NIR_SIM002",
            "NIR_SIM004",
            "NIR_SIM010",
            "NIR_MEMORY",
            "NIR_SIM032",
        )
    }
    assert found == {
        "NIR_NEFF003": "UNSUPPORTED_NEFF_VERSION",
        "NIR_NEFF004": "INVALID",
        "NIR_SIM001": "EXEC_COMPLETED_WITH_ERR",
        "NIR_SIM002": "EXEC_OOB",
        "NIR_SIM004": "TIMEOUT",
        "NIR_SIM010": "EXEC_COMPLETED_WITH_ERR",
        "NIR_MEMORY": "FAIL_HOST_MEM_ALLOC",
        "NIR_SIM032": "EXEC_COMPLETED_WITH_ERR",
    }
    assert status_of_error("NIR_SIM010").exit_status == 1004 & 0xFF
    assert status_of_exit(70, False) == NrtStatus.NRT_EXEC_UNIT_UNRECOVERABLE
    # A failure must not look like a success in the 8 bits of an exit status.
    statuses = [status.exit_status for status in NrtStatus]
    assert statuses.count(0) == 1 and len(set(statuses)) == len(statuses)


def test_types_without_nan() -> None:
    arrays = [np.ones(2, np.int32), np.ones(2, np.bool_), np.ones((), np.float32)]
    assert nan_outputs(["a", "b", "c"], arrays) == []
    (found,) = nan_outputs(["y"], [np.array(np.nan, np.float16)])
    assert found.text() == "output 'y' has 1 NaN of 1 values, the first one at []"


# --- neuron-packager


def test_unpack(
    neff: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert neuron_packager.main(["unpack", neff]) == 0
    _, members = read_members(neff)
    assert capsys.readouterr().out.startswith(f"m: {len(members)} files, ")
    for name, data in members.items():
        assert (tmp_path / "m" / name).read_bytes() == data
    header = json.loads((tmp_path / "m" / "neff_header.json").read_text())
    assert header["build_version"].startswith("NeuronIR")
    assert neuron_packager.main(["unpack", neff]) == 1
    assert "'m': it exists already" in capsys.readouterr().err
    assert neuron_packager.main(["unpack", neff, "-o", "no/such/m"]) == 1
    assert "[NIR_OUTPUT]" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["m"]


def test_info_and_usage(neff: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert neuron_packager.main(["info", neff]) == 0
    assert "made by           NeuronIR" in capsys.readouterr().out
    assert neuron_packager.main([]) == 2
    damaged = tmp_path / "d.neff"
    damaged.write_bytes(Path(neff).read_bytes()[:-1])
    assert neuron_packager.main(["unpack", str(damaged), "-o", str(tmp_path / "d")]) == 1
    assert "[NIR_NEFF002]" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()
