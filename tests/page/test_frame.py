"""The frame that all pages share."""

import re

from neuronir.targets.simulator.page.frame import PLAIN, Section, cards, figure_place, framed


def test_sections_links_and_data() -> None:
    sections = [
        Section("first", "First & last", "<p>body</p>", link="First"),
        Section("second", "Second", figure_place("second")),
    ]
    page = framed("a < b", sections, PLAIN, "LIBRARY", [{"x": "</script>"}], {"y": 1})
    assert page.count("<title>a &lt; b</title>") == page.count("<h1>a &lt; b</h1>") == 1
    links = re.findall(r'<a href="#([^"]*)">([^<]*)</a>', page)
    assert links == [("first-section", "First"), ("second-section", "Second")]
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids)) and {name for name, _ in links} <= set(ids)
    assert {"second-figure", "items", "data"} <= set(ids)
    for label in re.findall(r'aria-labelledby="([^"]*)"', page):
        assert label in ids
    assert '<h2 id="first-head">First &amp; last</h2>\n<p>body</p>' in page
    assert r'{"x":"<\/script>"}' in page and page.index("LIBRARY") < page.index("drawFigures")
    assert 'id="data"' not in framed("t", sections, PLAIN, "", [])


def test_cards_are_text() -> None:
    assert cards([("a<b", "1 & 2")]) == (
        '<div class="cards"><div class="card"><div class="big">1 &amp; 2</div>'
        "<div>a&lt;b</div></div></div>"
    )
