"""The terminal application, driven by Textual's pilot."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from neuronir.driver import CompileOptions
from neuronir.explore.record import Recording, explore
from tests.explore.models import MLP

pytest.importorskip("textual")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("explore") / "mlp.hlo"
    path.write_text(MLP)
    return explore(str(path), "trn1", CompileOptions(tiling="never"))


def drive(
    recording: Recording, steps: Callable[[Any, Any], Awaitable[None]], height: int = 40
) -> None:
    """Run the application without a terminal, and do some steps with it and its pilot."""
    from neuronir.explore.app import Explorer

    async def run() -> None:
        app = Explorer(recording)
        async with app.run_test(size=(140, height)) as pilot:
            await pilot.pause()
            await steps(app, pilot)

    asyncio.run(run())


def _drawn(app: Any, pane: str) -> list[str]:
    """The lines that a pane shows, and how: each a text and the background of its first letter."""
    found = app.query_one(pane)
    return [found.render_line(y).text.rstrip() for y in range(found.size.height)]


def _background(app: Any, pane: str, y: int) -> Any:
    return next(iter(app.query_one(pane).render_line(y))).style.bgcolor


def test_it_shows_both_sides(recording: Recording) -> None:
    async def steps(app: Any, pilot: Any) -> None:
        step = app.view.step
        assert step.changed
        app.action_fold()
        await pilot.pause()
        for pane, snapshot in (("#before", step.before), ("#after", step.after)):
            texts = [line.text for line in snapshot.lines]
            lines = [line for line in _drawn(app, pane) if line not in ("", "~")]
            assert lines == [text[: len(line)] for line, text in zip(lines, texts, strict=False)]
            assert lines

    drive(recording, steps)


def test_keys_step_through_passes(recording: Recording) -> None:
    async def steps(app: Any, pilot: Any) -> None:
        first = app.view.at
        await pilot.press("n", "n", "n", "p")
        await pilot.pause()
        assert app.view.at == first + 2
        passes = app.query_one("#passes")
        assert passes.highlighted == passes.get_option_index(str(first + 2))
        passes.focus()
        await pilot.press("down")
        await pilot.pause()
        assert app.view.at == first + 3

    drive(recording, steps)


def test_enter_highlights_the_lines_of_the_same_source_op(recording: Recording) -> None:
    number = next(n for n, s in enumerate(recording.steps) if s.name == "lower-hlo-to-nc")

    async def steps(app: Any, pilot: Any) -> None:
        app.view.show(number)
        app.view.cursor = next(
            k
            for k, entry in enumerate(app.view.entries)
            if (line := app.view.line(entry, 0)) is not None and "hlo.dot" in line.text
        )
        app.query_one("#before").focus()
        await pilot.press("enter")
        await pilot.pause()
        assert app.view.chosen == ("up",)
        same = app.query_one("#after").get_component_rich_style("pane--same").bgcolor
        for pane, side in (("#before", 0), ("#after", 1)):
            top = int(app.query_one(pane).scroll_offset.y)
            marked = 0
            for y in range(app.query_one(pane).size.height):
                if top + y >= len(app.view.entries):
                    break
                line = app.view.line(app.view.entries[top + y], side)
                is_same = line is not None and "up" in line.sources
                assert (_background(app, pane, y) == same) == is_same
                marked += is_same
            assert marked
        assert "Source op up (hlo.dot, mlp/up, mlp.hlo:6)" in app.view.describe()
        # The next pass that changes the op, and no other.
        await pilot.press("N")
        await pilot.pause()
        assert app.view.at > number and app.view.touches(app.view.at)
        assert not any(app.view.touches(n) for n in range(number + 1, app.view.at))
        await pilot.press("P", "escape")
        await pilot.pause()
        assert app.view.at == number and app.view.chosen == ()

    drive(recording, steps)


def test_a_click_chooses_a_line(recording: Recording) -> None:
    async def steps(app: Any, pilot: Any) -> None:
        app.view.folding = False
        app.view.show(0)
        app.update()
        await pilot.pause()
        pane = app.query_one("#after")
        at = next(k for k in range(pane.size.height) if "hlo.dot" in pane.render_line(k).text)
        await pilot.click("#after", offset=(4, at + 1))  # below its border
        await pilot.pause()
        assert app.view.chosen == ("up",)

    drive(recording, steps)


def test_panes_scroll_together_and_a_search_moves_them(recording: Recording) -> None:
    async def steps(app: Any, pilot: Any) -> None:
        app.view.show(len(recording.steps) - 2)  # the last pass
        app.action_fold()
        await pilot.pause()
        app.query_one("#after").focus()
        await pilot.press("end")
        await pilot.pause()
        before, after = app.query_one("#before"), app.query_one("#after")
        assert before.scroll_offset.y == after.scroll_offset.y > 0
        await pilot.press("home", "slash", *"nc.matmul")
        await pilot.pause()
        line = app.view.line(app.view.entries[app.view.cursor], 1)
        assert "nc.matmul" in line.text
        count = sum("nc.matmul" in line.text for line in app.view.step.after.lines)
        assert app.query_one("#search").border_subtitle == f"{count} lines of this pass"
        first = app.view.cursor
        await pilot.press("enter")
        await pilot.pause()
        assert count == 1 or app.view.cursor > first
        top = after.scroll_offset.y
        assert top <= app.view.cursor < top + after.size.height
        await pilot.press("escape", "n")
        assert app.view.query == "" and app.focused is after

    drive(recording, steps, 24)


def test_keys_are_text_in_the_search(recording: Recording) -> None:
    async def steps(app: Any, pilot: Any) -> None:
        at = app.view.at
        await pilot.press("slash", "n", "p", "q")
        await pilot.pause()
        assert app.query_one("#search").value == "npq" and app.view.at == at

    drive(recording, steps)


_WITHOUT = """
import sys
sys.modules["textual"] = None  # an import of it fails
from neuronir.cli.start import neuron_explore
sys.argv = ["neuron-explore", *sys.argv[1:]]
sys.exit(neuron_explore())
"""


def test_without_textual_it_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "mlp.hlo"
    path.write_text(MLP)
    command = [sys.executable, "-c", _WITHOUT, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: [NIR_EXP001] the terminal application needs Textual, which is not installed",
        "help: pip install 'neuronir[explore]', or use --html OUT.html or --list",
    ]
    page = subprocess.run([*command, "--html", str(tmp_path / "x.html")])
    assert page.returncode == 0 and (tmp_path / "x.html").exists()
