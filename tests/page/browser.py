"""A headless browser for the tests: one that is installed. Nothing is ever downloaded."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WIDTH, HEIGHT = 1280, 800


def open_browser() -> Iterator[Any]:
    """A selenium driver of Chromium at 1,280 x 800; skips the test where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("there is no chromium with chromedriver on PATH")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # A path of the driver keeps selenium from looking for one to download.
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    screen = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    found.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        yield found
    finally:
        found.quit()


def show(driver: Any, path: Path, scheme: str = "light") -> None:
    """Open a page in a color scheme, and wait until its script is done."""
    from selenium.webdriver.support.wait import WebDriverWait

    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    driver.get(path.as_uri())
    ready = "return document.body.dataset.ready === 'yes'"
    WebDriverWait(driver, 30, 0.05).until(lambda d: d.execute_script(ready))


def faults(driver: Any) -> list[str]:
    """What the page complained of."""
    return [e["message"] for e in driver.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]


OVERLAPS = """
const boxes = [...document.querySelectorAll("h1, h2, p, dl, .card, .scroll, .figure, .bar")]
  .filter((e) => e.offsetParent !== null && !e.closest("header") && !e.closest(".figure *"));
const found = [];
for (let i = 0; i < boxes.length; i++)
  for (let j = i + 1; j < boxes.length; j++) {
    if (boxes[i].contains(boxes[j]) || boxes[j].contains(boxes[i])) continue;
    const a = boxes[i].getBoundingClientRect(), b = boxes[j].getBoundingClientRect();
    const across = a.left < b.right - 1 && b.left < a.right - 1;
    if (across && a.top < b.bottom - 1 && b.top < a.bottom - 1)
      found.push(boxes[i].textContent.slice(0, 40) + " / " + boxes[j].textContent.slice(0, 40));
  }
return found;
"""


def check_layout(driver: Any) -> None:
    """No part of the page lies over another, and nothing is wider than the window."""
    assert driver.execute_script(OVERLAPS) == []
    assert driver.execute_script("return document.documentElement.scrollWidth") <= WIDTH


def reached_by_tab(driver: Any) -> list[str]:
    """What the tab key reaches, as `tag:text` or `tag:id`, in order.

    The first round may begin in the middle, where a page has scrolled to.
    """
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    script = (
        "const e = document.activeElement;"
        "return e === document.body ? '' : e.tagName.toLowerCase() + ':' + (e.id || "
        "e.getAttribute('aria-labelledby') || e.textContent)"
    )
    rounds: list[list[str]] = [[]]
    driver.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    for _ in range(4000):
        driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
        at = driver.execute_script(script)
        if at:
            rounds[-1].append(at)
        elif len(rounds) == 2:
            break
        else:
            rounds.append([])
    return rounds[-1]
