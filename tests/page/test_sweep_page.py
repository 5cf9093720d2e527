"""The page of a sweep, in a real browser."""

from pathlib import Path
from typing import Any

import pytest

from neuronir.targets.simulator.page.sweep_page import sweep_page
from tests.page.browser import check_layout, faults, open_browser, show

pytest.importorskip("bokeh")
browser = pytest.fixture(scope="module")(open_browser)


def point(batch: int, cast: str, error: str | None = None) -> dict[str, Any]:
    return {
        "batch": batch,
        "auto_cast": cast,
        "latency_us": 10.0 * batch,
        "throughput": 1e5,
        "roofline_percent": 50.0,
        "bound_by": "dma",
        "neff_bytes": 9000,
        "compile_s": 0.5,
        "error": error,
    }


GRID = [point(batch, cast) for batch in (1, 8) for cast in ("none", "all")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("varied", [["batch", "auto_cast"], ["auto_cast"]])
def test_page(varied: list[str], scheme: str, browser: Any, tmp_path: Path) -> None:
    points = GRID if "batch" in varied else GRID[:2]
    page = tmp_path / "sweep.html"
    failed = point(16, "<none>", "[NCC_X] <no>")
    page.write_text(sweep_page("m & n.onnx", [*points, failed], varied))
    assert page.stat().st_size < 2_000_000
    show(browser, page, scheme)
    check_layout(browser)
    assert faults(browser) == []
    assert browser.title == "Sweep of m & n.onnx"
    count = "return document.querySelectorAll('#points tbody tr').length"
    assert browser.execute_script(count) == len(points)
    drawn = "return Bokeh.documents.map((d) => [...d._all_models.values()].length > 10)"
    assert browser.execute_script(drawn) == [True, True]
    text = browser.find_element("id", "failed-section").text
    assert "[NCC_X] <no>" in text and "<none>" in text


def test_same_points_same_page() -> None:
    pages = {sweep_page("m", GRID, ["batch", "auto_cast"]) for _ in range(2)}
    assert len(pages) == 1


def test_nothing_was_measured() -> None:
    page = sweep_page("m", [point(1, "all", "no")], [])
    assert "0 of 1" in page
