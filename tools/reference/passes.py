"""docs/passes.md: the declarations of the passes, with IR before and after each of them."""

import re
from functools import cache
from io import StringIO
from pathlib import Path

from xdsl.parser import Parser
from xdsl.printer import Printer

from neuronir.cli.neuron_opt_lists import document_passes
from neuronir.pipeline import parse_pipeline
from neuronir.registry import Registry

EXAMPLES = Path(__file__).parent / "pass_examples"
"""One file for each pass that has an example; its first line names the pipeline."""
_COMMAND = "// neuron-opt -p "


def passes_page() -> str:
    """Every pass with its options and example, after a table of all passes."""
    head, *sections = re.split(r"^(?=## )", document_passes(Registry.discover()), flags=re.M)
    rows = ["| pass | summary |", "|---|---|"]
    parts = []
    for section in sections:
        name = section.split("\n", 1)[0].removeprefix("## ")
        if name != "Named pipelines":
            summary = section.split("\n")[2]
            rows.append(f"| [{name}](#{name}) | {summary} |")
        parts.append(section + _example(name))
    return head + "\n" + "\n".join(rows) + "\n\n" + "".join(parts)


def _example(name: str) -> str:
    path = EXAMPLES / f"{name}.mlir"
    if not path.exists():
        return ""
    first, _, before = path.read_text().partition("\n")
    pipeline = first.removeprefix(_COMMAND)
    after = run(before, pipeline)
    return (
        f"Before:\n\n```mlir\n{before}```\n\n"
        f"After `neuron-opt -p '{pipeline}'`:\n\n```mlir\n{after}\n```\n\n"
    )


@cache
def run(text: str, pipeline: str) -> str:
    """The IR after a pipeline, without the enclosing module if that has no attributes."""
    registry = Registry.discover()
    context = registry.context()
    module = Parser(context, text).parse_module()
    for pass_ in parse_pipeline(pipeline, registry.passes, registry.pipelines):
        pass_.apply(context, module)
    module.verify()
    stream = StringIO()
    Printer(stream).print_op(module)
    printed = stream.getvalue()
    if printed.startswith("builtin.module {\n"):
        lines = printed.split("\n")[1:-1]
        printed = "\n".join(line.removeprefix("  ") for line in lines)
    return printed
