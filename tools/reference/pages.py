"""The generated pages by file name."""

from pathlib import Path

from neuronir.diagnostics.codes import codes_markdown
from neuronir.targets.simulator.report_fields import fields_markdown
from tools.reference.commands import commands_page
from tools.reference.dialects import hlo_page, nc_page, tile_page
from tools.reference.error_pages import error_pages
from tools.reference.operators import operator_pages
from tools.reference.passes import passes_page

DOCS = Path(__file__).parents[2] / "docs"


def pages() -> dict[str, str]:
    """Every generated page; of report.md, the text before its tables is kept as it is."""
    report = (DOCS / "report.md").read_text()
    head = report[: report.index("## report.json")]
    return {
        "passes.md": passes_page(),
        "report.md": head + fields_markdown(),
        "error-codes.md": codes_markdown(),
        "reference-hlo.md": hlo_page(),
        "reference-tile.md": tile_page(),
        "reference-nc.md": nc_page(),
        "commands.md": commands_page(),
        **error_pages(),
        **operator_pages(),
    }
