"""The frame that the pages share: a document with sections, its styles, scripts and data."""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template
from typing import Any


@dataclass(frozen=True)
class Section:
    """A section of a page: `body` is HTML, `link` what the navigation calls it (default: `head`).

    Its element is `<name>-section`, its head `<name>-head`.
    """

    name: str
    head: str
    body: str
    link: str = ""


def framed(
    title: str,
    sections: Sequence[Section],
    scripts: Sequence[str],
    library: str,
    items: Sequence[Any],
    data: Any = None,
) -> str:
    """Return a page with a title, sections and figures (`items`, as BokehJS takes them).

    The scripts of `assets/` follow those of the library; `data` is the data that they unpack.
    """
    links = [f'<a href="#{s.name}-section">{escape(s.link or s.head)}</a>' for s in sections]
    held = [f'<script type="application/json" id="items">{embedded(items)}</script>']
    if data is not None:
        held.append(f'<script type="text/plain" id="data">{packed(data)}</script>')
    parts = {
        "title": escape(title),
        "links": "\n".join(links),
        "sections": "\n".join(map(_section, sections)),
        "data": "\n".join(held),
    }
    return fill("page.html", parts, scripts, library)


def _section(section: Section) -> str:
    head = f"{section.name}-head"
    return (
        f'<section id="{section.name}-section" aria-labelledby="{head}">\n'
        f'<h2 id="{head}">{escape(section.head)}</h2>\n{section.body}\n</section>'
    )


def figure_place(name: str) -> str:
    """Return the HTML element of the figure of section `name`."""
    return f'<div class="figure" id="{name}-figure" role="img" aria-labelledby="{name}-head"></div>'


PLAIN = ("tables.js", "paint.js", "figures.js", "plain.js")
"""The scripts of a page of figures and tables."""
FILTER = '<p><label>Show ops with <input id="filter" type="search"></label></p>'
"""The field that filters the table of ops."""


def cards(pairs: Iterable[tuple[str, str]]) -> str:
    """Return cards of (label, value), with the value in large letters."""
    inner = "".join(
        f'<div class="card"><div class="big">{escape(value)}</div><div>{escape(label)}</div></div>'
        for label, value in pairs
    )
    return f'<div class="cards">{inner}</div>'


def fill(
    template: str,
    parts: Mapping[str, str],
    scripts: Sequence[str],
    library: str,
    *,
    styles: tuple[str, ...] = ("page.css",),
    package: str = __package__,
) -> str:
    """Fill a template of `assets/` with the parts, the styles, and the scripts after those of the
    library.

    `package` contains the assets; missing ones are taken from this package.
    """
    return asset(template, package).substitute(
        parts,
        style="\n".join(_text(name, package) for name in styles),
        script="\n".join(_text(name, package) for name in scripts),
        library=library,
    )


def asset(name: str, package: str = __package__) -> Template:
    """Return a template of `assets/`."""
    return Template(_text(name, package))


def _text(name: str, package: str) -> str:
    path = files(package) / "assets" / name
    if not path.is_file():
        path = files(__package__) / "assets" / name
    return path.read_text(encoding="utf-8")


def embedded(value: Any) -> str:
    """Return JSON that may stand in a script element.

    Keys keep their order, because Bokeh's models are defined at their first occurrence.
    """
    return json.dumps(value, separators=(",", ":")).replace("</", "<\\/")


def packed(value: Any) -> str:
    """Return JSON, deflated and in base 64."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
