"""The page in a real browser: it works without a network, by mouse and by keyboard, in both color
schemes, and nothing lies over anything else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuronir.targets.simulator.diff import Side, compare_reports
from neuronir.targets.simulator.page.diff_page import diff_page
from neuronir.targets.simulator.page.page import report_page
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import simulate_timing
from tests.acceptance.programs import binary
from tests.page.browser import check_layout, faults, open_browser, reached_by_tab, show

pytest.importorskip("bokeh")


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    yield from open_browser()


def _page(name: str, folder: Path) -> Path:
    result = simulate_timing(binary(name), record=True)
    path = folder / f"{name}.html"
    path.write_text(report_page(result, build_report(result)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _page("hf_bert_tiny", tmp_path_factory.mktemp("page"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_a_network(driver: Any, bert: Path, scheme: str) -> None:
    show(driver, bert, scheme)
    assert faults(driver) == []
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0
    check_layout(driver)
    # Figures follow the scheme: their background is that of the page.
    colors = driver.execute_script(
        "return [page.find('timeline').background_fill_color,"
        " getComputedStyle(document.body).backgroundColor, page.find('slices').data.left.length]"
    )
    assert colors[:2] == (
        ["#ffffff", "rgb(255, 255, 255)"] if scheme == "light" else ["#14171d", "rgb(20, 23, 29)"]
    )
    assert colors[2] > 20


def test_a_head_sorts_by_mouse_and_by_key(driver: Any, bert: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    show(driver, bert)
    head = driver.find_element(By.XPATH, "//table[@id='ops']//th/button[text()='dma']")
    values = (
        "const at = arguments[0].closest('th').cellIndex;"
        "return [...document.querySelectorAll('#ops tbody tr')].map((r) =>"
        " Number(r.cells[at].dataset.v))"
    )
    head.click()
    found = driver.execute_script(values, head)
    assert found == sorted(found, reverse=True) and len(set(found)) > 2
    head.send_keys(Keys.ENTER)
    assert driver.execute_script(values, head) == sorted(found)
    sorted_by = head.find_element(By.XPATH, "..").get_attribute("aria-sort")
    assert sorted_by == "ascending"
    driver.find_element(By.ID, "filter").send_keys("softmax")
    shown = driver.execute_script(
        "return [...document.querySelectorAll('#ops tbody tr')].filter((r) => !r.hidden).map("
        "(r) => r.textContent)"
    )
    assert shown and all("softmax" in text for text in shown)


def test_the_timeline_zooms_to_an_instruction_and_back_to_its_op(driver: Any, bert: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    show(driver, bert)
    driver.find_element(By.ID, "zoom-in").click()
    begin, end = driver.execute_script("return [page.range.start, page.range.end]")
    assert end - begin == pytest.approx(driver.execute_script("return page.end / 2"))
    driver.find_element(By.ID, "whole").click()
    # An op of the table is shown in the timeline ...
    button = driver.find_element(By.CSS_SELECTOR, "#ops tbody tr button.op")
    name = button.text
    button.click()
    begin, end, low, high = driver.execute_script(
        "return [page.range.start, page.range.end, ...page.timeline.extent(arguments[0])]", name
    )
    assert begin <= low < high <= end
    # ... where a click on its longest slice shows the instruction ...
    driver.execute_script(
        "const t = page.timeline; let best = -1;"
        "for (let i = 0; i < t.begin.length; i++)"
        " if (t.nameAt(i) === arguments[0] && (best < 0 || t.length[i] > t.length[best])) best = i;"
        "const from = t.begin[best] / t.scale, to = from + t.length[best] / t.scale;"
        "page.show(from - 0.2, to + 0.2);"
        "window.best = best;",
        name,
    )
    figure = driver.find_element(By.ID, "time-figures")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
    x, y = driver.execute_script(
        "const t = page.timeline, view = Bokeh.index.find_one_by_id(page.find('timeline').id);"
        "const middle = (t.begin[best] + t.length[best] / 2) / t.scale;"
        "const frame = view.frame, box = view.el.getBoundingClientRect();"
        "const at = arguments[0].getBoundingClientRect();"
        "return [box.left + frame.x_scale.compute(middle) - at.left - at.width / 2,"
        " box.top + frame.y_scale.compute(t.tracks[t.trackOf(best)]) - at.top - at.height / 2]",
        figure,
    )
    ActionChains(driver).move_to_element_with_offset(figure, round(x), round(y)).click().perform()
    assert driver.execute_script("return page.selected === best")
    detail = driver.find_element(By.ID, "detail")
    assert "instruction:" in detail.text and name in detail.text
    # ... from which one comes back to the row of the op.
    detail.find_element(By.XPATH, f".//button[text()='{name}']").click()
    assert driver.execute_script("return document.activeElement.closest('tr').dataset.op") == name
    assert faults(driver) == []


def test_keys_move_the_timeline_and_step_through_instructions(driver: Any, bert: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    show(driver, bert)
    figure = driver.find_element(By.ID, "time-figures")
    figure.send_keys("++")
    narrow = driver.execute_script("return [page.range.start, page.range.end, page.end]")
    assert narrow[1] - narrow[0] == pytest.approx(narrow[2] / 4)
    figure.send_keys(Keys.ARROW_RIGHT)
    assert driver.execute_script("return page.range.start") > narrow[0]
    figure.send_keys("0")
    assert driver.execute_script("return page.range.start") == 0
    step = driver.find_element(By.ID, "next")
    step.send_keys(Keys.ENTER)
    first = driver.execute_script("return page.selected")
    step.send_keys(Keys.ENTER)
    assert driver.execute_script("return page.selected") == first + 1


def test_the_keyboard_reaches_tables_and_figures(driver: Any, bert: Path) -> None:
    show(driver, bert)
    reached = reached_by_tab(driver)
    tables = ("resources", "bytes", "losses", "held-SBUF", "held-PSUM", "ops", "groups", "figures")
    for table in tables:
        assert f"div:{table}-caption" in reached, table
    for head in ("op", "share %", "dma", "advice"):
        assert f"button:{head}" in reached
    for part in ("button:zoom-in", "select:op-choice", "div:time-figures", "input:filter"):
        assert part in reached, part


def test_the_accessibility_tree_has_headings_and_tables(driver: Any, bert: Path) -> None:
    show(driver, bert)
    nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named: dict[str, set[str]] = {}
    for node in nodes:
        if not node["ignored"]:
            role = node["role"]["value"]
            named.setdefault(role, set()).add(node.get("name", {}).get("value", ""))
    assert {"Summary", "Losses", "Timeline and memory", "Roofline", "Source ops"} <= named[
        "heading"
    ]
    assert "Source ops, the largest share first" in named["table"]
    assert "" not in named["table"] and "" not in named["button"]
    assert {"op", "share %", "advice"} <= named["columnheader"]
    assert "Timeline of engines and DMA queues, SBUF and PSUM over time" in named["group"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hf_bert_base", "hf_resnet50", "lstm_scan"])
def test_real_models(driver: Any, name: str, tmp_path: Path) -> None:
    path = _page(name, tmp_path)
    assert path.stat().st_size < 5_000_000
    for scheme in ("light", "dark"):
        show(driver, path, scheme)
        assert faults(driver) == []
        check_layout(driver)
        for part in ("summary-section", "timeline-section", "roofline-section", "ops-section"):
            driver.execute_script(f"document.getElementById('{part}').scrollIntoView()")
            assert driver.save_screenshot(str(tmp_path / f"{name}-{scheme}-{part}.png"))
    # A loaded machine may be slow once.
    times = []
    for _ in range(3):
        show(driver, path)
        times.append(driver.execute_script("return page.ready"))
    assert min(times) < 2000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_comparison(driver: Any, tmp_path: Path, scheme: str) -> None:
    sides = []
    for cast in ("none", "matmult"):
        program = binary("hf_bert_tiny", cast)
        sides.append(Side(program, build_report(simulate_timing(program, record=True))))
    path = tmp_path / "diff.html"
    path.write_text(diff_page(compare_reports(*sides), ("a", "b")), encoding="utf-8")
    show(driver, path, scheme)
    assert faults(driver) == []
    check_layout(driver)
    assert "button:change, us" in reached_by_tab(driver)
