"""The page of a run holds what the report says, and nothing else."""

import base64
import json
import re
import sys
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import Program, Source
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.occupancy import Occupancy
from neuronir.targets.simulator.page import timeline
from neuronir.targets.simulator.page.memory import memory_data
from neuronir.targets.simulator.page.page import report_page
from neuronir.targets.simulator.page.timeline import UNITS, timeline_data
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.report_rows import module_path
from neuronir.targets.simulator.timing import TimingResult, simulate_timing
from neuronir.targets.simulator.timing_code import TRANSFER
from tests.acceptance.programs import binary

pytest.importorskip("bokeh")


@pytest.fixture(scope="module")
def result() -> TimingResult:
    return simulate_timing(binary("flash_attn_scan"), record=True)


def _data(text: str) -> Any:
    packed = re.search(r'id="data">([^<]*)<', text)
    assert packed
    return json.loads(zlib.decompress(base64.b64decode(packed[1])))


class _Cells(HTMLParser):
    """The cells of the rows of each table, by the id of the table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self._inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._rows = self.tables.setdefault(dict(attrs)["id"] or "", [])
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside &= tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self._rows[-1][-1] += data


def test_slices_are_the_recorded_intervals(result: TimingResult) -> None:
    recording = result.recording
    assert recording is not None
    data = timeline_data(result)
    begins = np.cumsum(data["begin"])
    found = sorted(zip(data["op"], begins.tolist(), data["length"], strict=True))
    expected = []
    for place, number in enumerate(recording.ops):
        begin, end = recording.begins[place], recording.ends[place]
        expected.append((number, round(begin * UNITS), round(end * UNITS)))
        op = result.code.ops[number]
        if op.kind == TRANSFER:
            start = recording.starts[place]
            expected.append((number, round(start * UNITS), round((start + op.issue) * UNITS)))
    assert found == sorted((number, begin, end - begin) for number, begin, end in expected)
    for track in range(len(data["tracks"])):
        part = begins[data["starts"][track] : data["starts"][track + 1]]
        assert (np.diff(part) >= 0).all()


def test_a_slice_names_what_it_waited_for(result: TimingResult) -> None:
    data = timeline_data(result)
    begins = np.cumsum(data["begin"])
    ends = begins + np.array(data["length"])
    causes = [(i, cause) for i, cause in enumerate(data["cause"]) if cause >= 0]
    assert causes
    for i, cause in causes:
        assert ends[cause] <= begins[i] + 1
    recording = result.recording
    assert recording is not None
    makers = {recording.ops[consumer]: recording.ops[maker] for maker, consumer in recording.flows}
    assert all(makers[data["op"][i]] == data["op"][cause] for i, cause in causes)


def test_slices_are_joined_where_there_are_too_many(
    result: TimingResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = timeline_data(result)
    monkeypatch.setattr(timeline, "MOST", len(whole["op"]) // 3)
    few = timeline_data(result)
    assert 0 < len(few["op"]) <= len(whole["op"]) // 3
    assert few["quantum"] > 0
    assert sum(few["count"]) == len(whole["op"])
    assert sum(few["busy"]) == sum(whole["length"])
    assert max(np.cumsum(few["begin"]) + few["length"]) == max(
        np.cumsum(whole["begin"]) + whole["length"]
    )


def test_what_lives_in_memory_adds_up_to_its_level(result: TimingResult) -> None:
    recording = result.recording
    assert recording is not None
    levels = Occupancy(recording, result.code.ops, result.machine).levels()
    data = memory_data(result)
    for space in (Space.SBUF, Space.PSUM):
        part = data[space.name]
        time, most = part["peak"]
        assert most == max(level for _, level in levels[space])
        assert sum(r.high - r.low for r in part["held"]) == most > 0
        spans = [(r.low, r.high) for r in part["held"]]
        assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:], strict=False))
        assert part["size"] >= most


def test_the_tables_hold_the_report(result: TimingResult) -> None:
    report = build_report(result)
    text = report_page(result, report)
    tables = _Cells(text).tables
    head, *rows = tables["ops"]
    at = {name: i for i, name in enumerate(head)}
    assert len(rows) == len(report["ops"])
    for cells, row in zip(rows, report["ops"], strict=True):
        assert cells[at["op"]].startswith(row["name"])
        assert cells[at["bound"]] == row["bound"]
        assert cells[at["share %"]].strip() == f"{row['share_percent']:.1f}"
        for name in ("tensor", "vector", "scalar", "gpsimd", "sync", "dma", "idle"):
            time = row[f"{name}_us"]
            assert cells[at[name]] == (f"{time:,.2f}" if time else "–")
        assert row["advice"] in cells[at["advice"]]
    assert len(tables["losses"]) == 1 + len(report["losses"])
    numbers = {cells[0]: cells[1] for cells in tables["figures"][1:]}
    assert numbers["total_time_us"] == f"{report['total_time_us']:,.6g}"
    assert "roofline_us" in numbers


def test_a_page_has_the_same_bytes_again(result: TimingResult) -> None:
    report = build_report(result)
    assert report_page(result, report) == report_page(result, report)


def test_a_page_asks_for_nothing_else(result: TimingResult) -> None:
    text = report_page(result, build_report(result))
    own = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert not re.findall(r"\b(?:src|href)\s*=\s*[\"'](?!#)", own)
    assert not re.findall(r"url\(|@import|https?://", own)


def test_names_cannot_break_out_of_a_page() -> None:
    program: Program = binary("flash_attn_scan")
    bad = '</script><script>bad("&")</script>'
    named = [Source(bad, bad, bad, 1, bad, s.flops) for s in program.sources]
    changed = replace(program, sources=named, metadata={**program.metadata, "module": bad})
    result = simulate_timing(changed, record=True)
    text = report_page(result, build_report(result))
    assert bad not in text
    assert _data(text)["sources"][0][0] == bad


def test_without_bokeh_it_says_what_to_install(
    result: TimingResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(NeuronError, match="NIR_SIM040") as error:
        report_page(result, build_report(result))
    assert "pip install 'neuronir[report]'" in error.value.render()


def test_a_report_without_a_timeline_is_no_page() -> None:
    result = simulate_timing(binary("flash_attn_scan"))
    with pytest.raises(ValueError, match="not recorded"):
        report_page(result, build_report(result))


@pytest.mark.parametrize(
    ("op", "modules"),
    [
        ("encoder.layer.3.attention/linear", ("encoder", "layer", "3", "attention")),
        ("jit(f)/transpose(jvp(a/b.c))/dot_general", ("jit(f)", "transpose(jvp(a/b.c))")),
        ("/encoder/layer.0/MatMul", ("encoder", "layer", "0")),
        ("dot.3", ()),
        ("", ()),
    ],
)
def test_module_paths(op: str, modules: tuple[str, ...]) -> None:
    assert module_path(op) == modules


def test_modules_add_up_their_ops() -> None:
    program = binary("flash_attn_scan")
    named = [replace(s, framework=f"net/block_{i % 2}/op") for i, s in enumerate(program.sources)]
    report = build_report(simulate_timing(replace(program, sources=named)))
    rows = {row["name"]: row for row in report["modules"]}
    assert list(rows) == ["net", "net/block_0", "net/block_1"]
    for key in ("tensor_us", "hbm_read_bytes", "share_percent", "idle_us", "ops"):
        parts = rows["net/block_0"][key] + rows["net/block_1"][key]
        assert rows["net"][key] == pytest.approx(parts)
    assert rows["net"]["share_percent"] == pytest.approx(100.0)


def test_an_op_is_told_of_its_largest_loss() -> None:
    report = build_report(simulate_timing(binary("hf_bert_tiny")))
    worst = report["losses"][0]
    row = next(row for row in report["ops"] if row["name"] == worst["worst_op"])
    assert (row["loss"], row["advice"]) == (worst["what"], worst["advice"])
    assert 0 < row["loss_us"] <= worst["us"]
