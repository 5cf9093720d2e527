"""The page of a compile: what it holds, and how it works in a real browser."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neuronir.dialects.support.diagnostics import Message, handling
from neuronir.driver import CompileOptions
from neuronir.explore.align import rows_of
from neuronir.explore.page import explore_page
from neuronir.explore.record import Recording, explore
from neuronir.explore.snapshot import Line, Snapshot, SourceOp
from tests.acceptance.programs import model
from tests.explore.models import MLP
from tests.page.browser import check_layout, faults, open_browser, reached_by_tab, show

ROOT = Path(__file__).resolve().parents[2]
MOST = 100_000


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("explore") / "mlp.hlo"
    path.write_text(MLP)
    return explore(str(path), "trn1", CompileOptions(tiling="never"))


@pytest.fixture(scope="module")
def mlp(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "mlp.html"
    path.write_text(explore_page(recording, MOST), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    yield from open_browser()


def _data(text: str) -> Any:
    packed = re.search(r'id="data">([^<]*)<', text)
    assert packed
    return json.loads(zlib.decompress(base64.b64decode(packed[1])))


def settle(driver: Any) -> None:
    """Wait until the page has drawn what was asked for."""
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(driver, 30, 0.02).until(lambda d: d.execute_script("return !page.waiting"))


def _step(recording: Recording, name: str) -> int:
    return next(n for n, s in enumerate(recording.steps) if s.name == name and s.changed)


def test_the_list_of_passes_is_in_the_text_of_the_page(recording: Recording, mlp: Path) -> None:
    text = mlp.read_text(encoding="utf-8")
    buttons = re.findall(r'class="pass (\w*)" data-step="(\d+)"', text)
    assert [int(number) for _, number in buttons] == list(range(len(recording.steps)))
    for step, (kind, _) in zip(recording.steps, buttons, strict=True):
        assert kind == ("" if step.changed else "same")


def test_it_asks_for_nothing_and_has_the_same_bytes_again(recording: Recording, mlp: Path) -> None:
    text = mlp.read_text(encoding="utf-8")
    assert text == explore_page(recording, MOST)
    assert not re.findall(r"\b(?:src|href)\s*=\s*[\"'](?!#)", text)
    assert not re.findall(r"url\(|@import|https?://", text)


def test_names_cannot_break_out_of_a_page(recording: Recording) -> None:
    bad = '</script><script>bad("&")</script>'
    line = Line(bad, (bad,))
    step = replace(
        recording.steps[0], name=bad, text=bad, about=bad, after=Snapshot((line,), 1), phase=bad
    )
    found = explore_page(
        Recording(bad, "trn1", bad, (step,), (SourceOp(bad, bad, bad, bad),)), MOST
    )
    assert bad not in found
    assert _data(found)["texts"] == [bad]


def test_phases_beyond_the_limit_are_left_out(recording: Recording) -> None:
    first = [step for step in recording.steps if step.phase in ("parsed", "hlo")]
    most = len({line for step in first for line in step.after.lines})
    heard: list[Message] = []
    with handling(heard.append):
        text = explore_page(recording, most)
    phases = {step["phase"] for step in _data(text)["steps"]}
    assert phases == {"parsed", "hlo"}
    assert "left out: virtual, ordered, allocated, synchronised, binary" in heard[0].text
    assert len(_data(text)["texts"]) == most


def test_selected_phases_begin_with_their_own_snapshot(recording: Recording) -> None:
    data = _data(explore_page(recording.only(["ordered"]), MOST))
    first = data["steps"][0]
    (lead,) = first["lead"]
    found = [data["texts"][line] for line in lead[2]]
    before = next(s.before for s in recording.steps if s.phase == "ordered")
    assert found == [line.text for line in before.lines]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "bert.html"
    found = explore(str(ROOT / "examples" / "bert_tiny.hlo"), "trn1")
    path.write_text(explore_page(found, MOST), encoding="utf-8")
    return path


def test_the_page_of_bert_tiny_is_small(bert: Path) -> None:
    assert bert.stat().st_size < 500_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_a_network(driver: Any, mlp: Path, scheme: str) -> None:
    show(driver, mlp, scheme)
    assert faults(driver) == []
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0
    check_layout(driver)
    background = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 29)")


def test_its_rows_are_those_of_the_recording(driver: Any, recording: Recording, mlp: Path) -> None:
    show(driver, mlp)
    script = (
        "page.show(arguments[0]); return page.rows.map((row) => [row[0], row[1]].map("
        "(line) => line < 0 ? null :"
        " [page.texts[line], page.own[line].map((s) => page.sources[s][0])]))"
    )

    def line(snapshot: Snapshot, at: int | None) -> Any:
        if at is None:
            return None
        return [snapshot.lines[at].text, list(snapshot.lines[at].sources)]

    for number, step in enumerate(recording.steps):
        expected = [
            [line(step.before, i), line(step.after, j)] for i, j in rows_of(step.before, step.after)
        ]
        assert driver.execute_script(script, number) == expected, step.name


def test_a_click_highlights_the_lines_of_the_same_source_op(
    driver: Any, recording: Recording, mlp: Path
) -> None:
    from selenium.webdriver.common.by import By

    show(driver, mlp)
    number = _step(recording, "lower-hlo-to-nc")
    driver.find_element(By.CSS_SELECTOR, f"[data-step='{number}']").click()
    dot = "//div[@id='before']//div[contains(@class, 'line')][contains(., 'hlo.dot')]"
    settle(driver)
    driver.find_element(By.XPATH, dot).click()
    marked = "return [...document.querySelectorAll('#{} .same-source')].map((e) => e.textContent)"

    def expected(snapshot: Snapshot) -> list[str]:
        return [line.text for line in snapshot.lines if "up" in line.sources]

    def drawn(pane: str) -> list[str]:
        settle(driver)
        found: list[str] = driver.execute_script(marked.format(pane))
        return found

    step = recording.steps[number]
    assert drawn("before") == expected(step.before) != []
    assert drawn("after") == expected(step.after) != []
    detail = driver.find_element(By.ID, "detail").text
    assert "Source op up (hlo.dot · mlp/up · mlp.hlo:6)" in detail
    # The next passes highlight the same op, and the list marks those that change it.
    driver.find_element(By.ID, "next").click()
    following = recording.steps[number + 1]
    assert drawn("after") == expected(following.after)
    touched = driver.execute_script(
        "return [...document.querySelectorAll('.touched')].map((e) => Number(e.dataset.step))"
    )
    for at, one in enumerate(recording.steps[1:], 1):
        a, b = ({x for x in s.lines if "up" in x.sources} for s in (one.before, one.after))
        if a != b:
            assert at in touched, one.name
    # Once more chooses nothing.
    driver.find_element(By.TAG_NAME, "body").send_keys("\ue00c")
    assert drawn("after") == []


def test_keys(driver: Any, recording: Recording, mlp: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    show(driver, mlp)
    body = driver.find_element(By.TAG_NAME, "body")
    at = "return page.at"
    first = driver.execute_script(at)
    assert recording.steps[first].changed
    body.send_keys("n")
    assert driver.execute_script(at) == first + 1
    body.send_keys("p")
    assert driver.execute_script(at) == first
    driver.find_element(By.ID, "only-changed").click()
    body.send_keys("n")
    changed = [n for n, step in enumerate(recording.steps) if step.changed]
    assert driver.execute_script(at) == changed[changed.index(first) + 1]
    # In a pane, arrows move and Enter chooses.
    pane = driver.find_element(By.ID, "after")
    pane.send_keys(Keys.END)
    assert driver.execute_script("return page.cursor === page.view.length - 1")
    pane.send_keys(Keys.HOME)
    assert driver.execute_script("return page.cursor") == 0
    body.send_keys("]")
    assert driver.execute_script("return page.isChange(page.view[page.cursor])")
    pane.send_keys(Keys.ENTER)
    chosen = "return [...page.chosen].map((s) => page.sources[s][0])"
    here = (
        "return page.rows[page.view[page.cursor]].slice(0, 2).find((l) => l >= 0 && "
        "page.own[l].length)"
    )
    assert driver.execute_script(here) is None or driver.execute_script(chosen)
    body.send_keys("/")
    assert driver.execute_script("return document.activeElement.id") == "search"
    assert faults(driver) == []


def test_a_search_finds_lines_in_all_passes(driver: Any, recording: Recording, mlp: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    show(driver, mlp)
    number = _step(recording, "nc-synchronise")
    driver.execute_script("page.show(arguments[0])", number)
    box = driver.find_element(By.ID, "search")
    box.send_keys("NC.matmul")
    hits = driver.execute_script(
        "return [...document.querySelectorAll('.hit')].map((e) => Number(e.dataset.step))"
    )
    assert hits == [
        n
        for n, step in enumerate(recording.steps)
        if any("nc.matmul" in line.text for line in step.after.lines)
    ]
    box.send_keys(Keys.ENTER)
    settle(driver)
    marks = driver.execute_script(
        "return [...document.querySelectorAll('.row.cursor mark')].map((e) => e.textContent)"
    )
    assert "".join(marks).startswith("nc.matmul")


def test_unchanged_lines_fold_and_open(driver: Any, bert: Path) -> None:
    from selenium.webdriver.common.by import By

    show(driver, bert)
    driver.execute_script("page.show(page.steps.findIndex((s) => s.name === 'hlo-auto-cast'))")
    folds = "return page.view.filter((n) => typeof n !== 'number').length"
    many = driver.execute_script(folds)
    assert many > 1
    changed = driver.execute_script("return page.rows.filter((row) => row[2]).length")
    assert (
        driver.execute_script("return page.view.filter((n) => page.isChange(n)).length") == changed
    )
    settle(driver)
    driver.find_element(By.CSS_SELECTOR, "#after .folded").click()
    assert driver.execute_script(folds) == many - 1
    driver.find_element(By.ID, "fold").click()
    assert driver.execute_script("return page.rows.length - page.view.length") == 0
    check_layout(driver)
    assert faults(driver) == []


def test_the_keyboard_reaches_everything(driver: Any, mlp: Path) -> None:
    show(driver, mlp)
    reached = reached_by_tab(driver)
    for part in (
        "button:previous",
        "button:next",
        "input:search",
        "input:fold",
        "input:only-changed",
    ):
        assert part in reached, part
    assert {"div:before", "div:after"} <= set(reached)
    assert sum("hlo-canonicalize" in name for name in reached) >= 2


def test_an_address_names_a_pass_and_an_op(driver: Any, recording: Recording, mlp: Path) -> None:
    number = _step(recording, "nc-schedule")
    show(driver, mlp)
    driver.get(f"{mlp.as_uri()}#step={number}&op=up")
    driver.refresh()
    from selenium.webdriver.support.wait import WebDriverWait

    ready = "return document.body.dataset.ready === 'yes'"
    WebDriverWait(driver, 30, 0.05).until(lambda d: d.execute_script(ready))
    found = driver.execute_script(
        "return [page.at, [...page.chosen].map((s) => page.sources[s][0])]"
    )
    assert found == [number, ["up"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hf_bert_base", "lstm_scan"])
def test_real_models(driver: Any, name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.html"
    path.write_text(explore_page(explore(str(model(name).path), "trn1"), MOST), encoding="utf-8")
    assert path.stat().st_size < 1_000_000
    for scheme in ("light", "dark"):
        show(driver, path, scheme)
        assert faults(driver) == []
        check_layout(driver)
    # A loaded machine may be slow once.
    times = []
    for _ in range(3):
        show(driver, path)
        times.append(driver.execute_script("return page.ready"))
    assert min(times) < 2000
