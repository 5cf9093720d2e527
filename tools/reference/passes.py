"""docs/passes.md: the declarations of the passes, with IR before and after each of them."""

import re
from functools import cache
from io import StringIO
from pathlib import Path

from xdsl.parser import Parser
from xdsl.printer import Printer

from neuronir.cli.neuron_opt_lists import document_passes
from neuronir.dialects.support.errors import NeuronError
from neuronir.pipeline import parse_pipeline
from neuronir.registry import Registry

EXAMPLES = Path(__file__).parent / "pass_examples"
"""One file for each pass that has an example; its first line names the pipeline."""
_COMMAND = "// neuron-opt -p "
_LONG = 12
"""Regions with more lines are elided."""
_COMPOSITE = re.compile(r"^( *)(%.* = hlo\.composite .*)\(\{\n(?:.*\n)*?\1\}\)", re.MULTILINE)


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
    before_text = f"Before:\n\n```mlir\n{shortened(before)}```\n\n"
    try:
        after = shortened(run(before, pipeline))
    except NeuronError as error:
        return f"{before_text}`neuron-opt -p '{pipeline}'`:\n\n```\n{error.render()}\n```\n\n"
    return f"{before_text}After `neuron-opt -p '{pipeline}'`:\n\n```mlir\n{after}\n```\n\n"


def shortened(text: str) -> str:
    """The IR with `...` for long regions of composites, which define their semantics."""
    return _COMPOSITE.sub(_shortened, text)


def _shortened(match: re.Match[str]) -> str:
    long = match[0].count("\n") > _LONG
    return f"{match[1]}{match[2]}({{ ... }})" if long else match[0]


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
