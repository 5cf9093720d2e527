"""The terminal application: a list of passes and two panes of IR."""

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Click, Key
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from neuronir.explore.record import Recording
from neuronir.explore.texts import delta_text, note_of, time_text
from neuronir.explore.view import Entry, View


class Pane(ScrollView):
    """The IR before (`side` 0) or after (1) the pass in view."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "pane--gone",
        "pane--new",
        "pane--none",
        "pane--same",
        "pane--near",
        "pane--folded",
        "pane--hit",
    }
    DEFAULT_CSS = """
    Pane { width: 1fr; height: 1fr; border: round $surface-lighten-2; }
    Pane { border-title-color: $foreground; }
    Pane:focus { border: round $accent; }
    Pane .pane--gone { background: $error 25%; }
    Pane .pane--new { background: $success 25%; }
    Pane .pane--none { color: $surface-lighten-2; }
    Pane .pane--same { background: $warning; color: black; }
    Pane .pane--near { background: $warning 30%; }
    Pane .pane--folded { background: $surface-lighten-1; color: $text-muted; }
    Pane .pane--hit { background: $accent; color: $text; }
    """

    class Chosen(Message):
        """A line was clicked."""

        def __init__(self, line: int, side: int) -> None:
            super().__init__()
            self.line = line
            self.side = side

    def __init__(self, view: View, side: int, id: str) -> None:
        super().__init__(id=id)
        self.view = view
        self.side = side
        self.can_focus = True

    def update(self) -> None:
        """Draw the current state of the view."""
        lines = (self.view.line(entry, self.side) for entry in self.view.entries)
        longest = max((len(line.text) for line in lines if line is not None), default=0)
        self.virtual_size = Size(longest + 2, len(self.view.entries))
        step = self.view.step
        count = len((step.after if self.side else step.before).lines)
        self.border_title = f"{'After' if self.side else 'Before'}: {count:,} lines"
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a line of the window."""
        offset_x, offset_y = self.scroll_offset
        number, width = y + offset_y, self.size.width
        if number >= len(self.view.entries):
            return Strip.blank(width, self.rich_style)
        text, style = self._line(self.view.entries[number])
        if number == self.view.cursor:
            style += Style(bold=True, underline=True)
        segments = self._hits(text.ljust(width + offset_x), self.rich_style + style)
        return Strip(segments).crop(offset_x, offset_x + width)

    def _line(self, entry: Entry) -> tuple[str, Style]:
        """Return the text and the style of an entry."""
        view = self.view
        if not isinstance(entry, int):
            text = f"... {entry[1] - entry[0]:,} unchanged lines"
            return text, self._style("folded")
        line = view.line(entry, self.side)
        if line is None:
            return "~", self._style("none")
        same = view.sameness(line)
        if same:
            return line.text, self._style("same" if same == 2 else "near")
        if view.is_change(entry):
            return line.text, self._style("new" if self.side else "gone")
        return line.text, Style()

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"pane--{name}")

    def _hits(self, text: str, style: Style) -> list[Segment]:
        """Cut a text so that matches of the search have their own style."""
        query = self.view.query
        if not query:
            return [Segment(text, style)]
        found, at = [], 0
        while (to := text.lower().find(query, at)) >= 0:
            found += [Segment(text[at:to], style)]
            at = to + len(query)
            found += [Segment(text[to:at], style + self._style("hit"))]
        return [*found, Segment(text[at:], style)]

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Keep the other pane at the same line."""
        super().watch_scroll_y(old_value, new_value)
        for pane in self.app.query(Pane):
            if pane is not self and pane.scroll_y != new_value:
                pane.scroll_to(y=new_value, animate=False, force=True)

    def on_click(self, event: Click) -> None:
        """Choose the line under the mouse."""
        offset = event.get_content_offset(self)
        if offset is not None:
            self.post_message(self.Chosen(offset.y + int(self.scroll_offset.y), self.side))


class Explorer(App[None]):
    """Step through the passes of a recording."""

    CSS = """
    #passes { width: 38; border: round $surface-lighten-2; }
    #passes:focus { border: round $accent; }
    #about { height: auto; max-height: 4; padding: 0 1; }
    #detail { height: 3; padding: 0 1; }
    #search { display: none; }
    #search.open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "go(1)", "Next pass"),
        Binding("p", "go(-1)", "Previous"),
        Binding("N", "touching(1)", "Next of op", key_display="N"),
        Binding("P", "touching(-1)", "Previous of op", key_display="P"),
        Binding("right_square_bracket", "change(1)", "Next change", key_display="]"),
        Binding("left_square_bracket", "change(-1)", "Previous change", key_display="["),
        Binding("slash", "search", "Search", key_display="/"),
        Binding("f", "fold", "Fold"),
        Binding("escape", "clear", "Clear", show=False),
        Binding("q", "quit", "Quit"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self.view = View(recording)
        self.title = f"{recording.model} on {recording.target}"

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        with Horizontal():
            passes = OptionList(*self._options(), id="passes", markup=False)
            passes.highlighted = passes.get_option_index(str(self.view.at))
            yield passes
            with Vertical():
                yield Static(id="about", markup=False)
                with Horizontal():
                    yield Pane(self.view, 0, "before")
                    yield Pane(self.view, 1, "after")
                yield Static(id="detail", markup=False)
                yield Input(placeholder="search", id="search")
        yield Footer()

    def _options(self) -> list[Option | None]:
        """Return the passes, with a line between phases."""
        found: list[Option | None] = []
        phase = ""
        for number, step in enumerate(self.view.steps):
            if step.phase != phase:
                phase = step.phase
                found += [*([None] if found else []), Option(f"{phase}:", disabled=True)]
            found.append(Option(self._prompt(number), id=str(number)))
        return found

    def _prompt(self, number: int) -> Text:
        """Return the two lines of a pass in the list; dim if it changes nothing."""
        step = self.view.steps[number]
        mark = "● " if self.view.touches(number) else "  "
        if not step.changed and not step.failed:
            return Text(f"{mark}{step.name}", style="dim")
        text = Text(f"{mark}{step.name}", style="bold red" if step.failed else "bold")
        return text.append(f"\n    {delta_text(step)}  {time_text(step)}", style="not bold")

    def on_mount(self) -> None:
        """Show the first pass that changes something."""
        self.query_one("#after").focus()
        self.update()

    def update(self) -> None:
        """Draw everything that depends on the view."""
        view, step = self.view, self.view.step
        passes = self.query_one("#passes", OptionList)
        for number in range(len(view.steps)):
            passes.replace_option_prompt(str(number), self._prompt(number))
        at = passes.get_option_index(str(view.at))
        # The list reports moves late, when another pass may already be selected.
        with passes.prevent(OptionList.OptionHighlighted):
            passes.highlighted = at
        head = Text(f"{view.at} of {len(view.steps) - 1}: {step.text}", style="bold")
        head.append(f"\n{step.summary}\n", style="not bold")
        head.append(note_of(view.recording), style="dim not bold")
        self.query_one("#about", Static).update(head)
        self.query_one("#detail", Static).update(view.describe())
        for pane in self.query(Pane):
            pane.update()
        # Sizes are known after the layout.
        self.call_after_refresh(self._scroll)

    def _scroll(self) -> None:
        """Bring the cursor into view."""
        pane = self.query_one("#after", Pane)
        top, height = int(pane.scroll_offset.y), pane.size.height
        cursor = self.view.cursor
        if not top <= cursor < top + height - 1:
            pane.scroll_to(y=max(0, cursor - height // 3), animate=False, force=True)

    def action_go(self, by: int) -> None:
        """Show the next or the previous pass."""
        self.view.go(by)
        self.update()

    def action_touching(self, by: int) -> None:
        """Show the next or the previous pass that changes the chosen source ops."""
        self.view.go_touching(by)
        self.update()

    def action_change(self, by: int) -> None:
        """Move to the next or the previous change."""
        self.view.move_to_change(by)
        self.update()

    def action_fold(self) -> None:
        """Fold or unfold unchanged lines."""
        self.view.toggle_folding()
        self.update()

    def action_search(self) -> None:
        """Open the search."""
        box = self.query_one("#search", Input)
        box.add_class("open")
        box.focus()

    def action_clear(self) -> None:
        """Close the search, or clear the selection."""
        box = self.query_one("#search", Input)
        if box.has_class("open"):
            box.value = ""
            self.view.query = ""
            box.remove_class("open")
            self.query_one("#after").focus()
        else:
            self.view.choose_sources(())
        self.update()

    def on_key(self, event: Key) -> None:
        """Move the cursor in a pane, or choose its line."""
        pane = self.focused
        if not isinstance(pane, Pane):
            return
        page, end = max(1, pane.size.height - 1), len(self.view.entries)
        moves = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -end, "end": end}
        if event.key in moves:
            self.view.move(moves[event.key])
        elif event.key in ("enter", "space"):
            self.view.choose(pane.side)
        else:
            return
        event.prevent_default()
        event.stop()
        self.update()

    @on(Pane.Chosen)
    def choose_line(self, event: Pane.Chosen) -> None:
        """Choose the source ops of a line that was clicked."""
        if event.line < len(self.view.entries):
            self.view.cursor = event.line
            self.view.choose(event.side)
            self.update()

    @on(OptionList.OptionHighlighted)
    def show_pass(self, event: OptionList.OptionHighlighted) -> None:
        """Show the pass that is highlighted in the list."""
        number = int(event.option_id or 0)
        if number != self.view.at:
            self.view.show(number)
            self.update()

    @on(Input.Changed)
    def search_for(self, event: Input.Changed) -> None:
        """Search while the text is typed."""
        self.view.search(event.value)
        rows = range(len(self.view.rows))
        count = sum(map(self.view.hits, rows)) if self.view.query else 0
        event.input.border_subtitle = f"{count:,} lines of this pass"
        self.update()

    @on(Input.Submitted)
    def search_on(self, event: Input.Submitted) -> None:
        """Move to the next line that was found."""
        self.view.move_to_hit(1)
        self.update()
