"""neuron-sim sweep: the grid, its figures, and what is written."""

import csv
import json
from pathlib import Path

import pytest

from neuronir.cli import neuron_sim, neuronx_cc
from neuronir.cli.neuron_sim_sweep import Measured, best, table_text
from tests.driver.test_cache_failures import LARGE
from tests.many.test_compile_many import SOURCE

MODEL = """<
  ir_version: 8,
  opset_import: ["" : 17]
>
m (float[n, 64] x, float[64, 64] w) => (float[n, 64] y) { y = MatMul (x, w) }
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    Path("m.onnxtxt").write_text(MODEL)
    return "m.onnxtxt"


def swept(*words: str) -> int:
    return neuron_sim.main(["sweep", *words, "--jobs", "1"])


def points(*words: str, status: int = 0) -> list[dict[str, object]]:
    assert swept(*words, "--report", "s.json") == status
    found: list[dict[str, object]] = json.loads(Path("s.json").read_text())["points"]
    return found


def test_grid_of_batches_and_precisions(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = (model, "--input-shape", "n={batch}", "--batch", "1,128")
    found = points(*words, "--auto-cast", "none,matmult", "--csv", "s.csv")
    said = capsys.readouterr().out
    axes = [(p["batch"], p["auto_cast"], p["auto_cast_type"]) for p in found]
    casts = [("none", "-"), ("matmult", "bf16")]
    assert axes == [(batch, *cast) for batch in (1, 128) for cast in casts]
    with open("s.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["latency_us"]) for row in rows] == [p["latency_us"] for p in found]
    assert "batch  auto-cast  latency us" in said  # what has one value is not a column
    assert "lowest latency: " in said and "highest throughput: " in said
    # The figures are those of a compile and a run by hand.
    neuronx = ["compile", model, "--framework", "ONNX", "--target", "trn1", "-o", "m.neff"]
    assert neuronx_cc.main([*neuronx, "--input-shape", "n=128", "--auto-cast", "none"]) == 0
    assert neuron_sim.main(["run", "m.neff", "--timing-only", "--report", "r.json"]) == 0
    time_us = json.loads(Path("r.json").read_text())["total_time_us"]
    assert found[2]["latency_us"] == round(time_us, 3)
    assert found[2]["throughput"] == round(128e6 / time_us, 1)


def test_a_file_for_each_batch(model: str) -> None:
    for batch in (1, 2):
        Path(f"b{batch}.hlo").write_text(SOURCE % (batch, batch))
    found = points("b{batch}.hlo", "--batch", "1,2", "--target", "trn1,inf1")
    assert [(p["target"], p["batch"]) for p in found] == [
        ("trn1", 1),
        ("trn1", 2),
        ("inf1", 1),
        ("inf1", 2),
    ]
    assert all(p["error"] is None for p in found)


def test_points_that_fail_stay_in_the_table(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = points(str(LARGE), "--optlevel", "1,2", "--html", "s.html", status=1)
    assert first["latency_us"] is None and "NCC_EOOM002" in str(second["error"])
    assert capsys.readouterr().out.count("failed: [NCC_EOOM002]") == 4  # lines and table
    assert "Points that failed" in Path("s.html").read_text()


@pytest.mark.parametrize(
    "words, status, said",
    [
        (["--batch", "1,2"], 2, "write {batch} for the batch size"),
        (["--batch", "0"], 2, "is not a list of sizes"),
        (["--auto-cast", "none,,all"], 2, "has an empty value"),
        (["--auto-cast", "some"], 2, "invalid choice: 'some'"),
        (["--framework", "MXNET"], 1, "[NIR_ARG001]"),
    ],
)
def test_usage(
    words: list[str], status: int, said: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert swept(model, *words) == status
    assert said in capsys.readouterr().err


def test_table_of_measured_points() -> None:
    rows = [
        Measured("trn1", 1, "all", "bf16", "2", 10.0, 1e5, "dma", 50.0, 9000, 0.5, False),
        Measured("trn1", 8, "all", "bf16", "2", error="[NCC_X] no"),
    ]
    assert table_text(rows, ["batch"]).splitlines() == [
        "batch  latency us  inferences/s  roofline %  bound by  compile s",
        "    1       10.00     100,000.0        50.0       dma       0.50",
        "    8  failed: [NCC_X] no",
    ]
    assert list(best(rows, ["batch"])) == [
        "lowest latency: 10.00 us (batch 1)",
        "highest throughput: 100,000.0 inferences/s on one core (batch 1)",
    ]
    assert list(best(rows[1:], ["batch"])) == list(best(rows, [])) == []
