"""Writes docs/passes.md from the declarations of the passes: `python -m neuronir.tools.pass_docs`.

With `--check` it writes nothing and exits 1 if the file is not what it would write.
"""

import argparse
import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module, util
from pathlib import Path

from xdsl.passes import ModulePass, get_pass_option_infos

from neuronir.passes.pipelines import PIPELINES

FOLDERS = (
    ("hlo", "neuronir.passes.hlo"),
    ("lowering", "neuronir.passes.lowering"),
    ("nc", "neuronir.passes.nc"),
    ("check", "neuronir.passes.check"),
)
DEFAULT_OUTPUT = Path(__file__).resolve().parent.parent.parent / "docs" / "passes.md"

_HEAD = """# Passes

Generated from the passes' declarations by `python -m neuronir.tools.pass_docs`; do not edit.

Run passes with `neuron-opt FILE -p 'pass-a,pass-b{option=1}'`. Options are given as
`name=value`, tuples as `name=a,b`, strings in double quotes where they are not plain words.
"""


def registries() -> dict[str, Mapping[str, Callable[[], type[ModulePass]]]]:
    """The registry of each pass folder that exists, by section title."""
    found: dict[str, Mapping[str, Callable[[], type[ModulePass]]]] = {}
    for title, module in FOLDERS:
        if util.find_spec(module) is None:
            continue
        registry = getattr(import_module(module), "PASSES", {})
        if registry:
            found[title] = registry
    return found


def describe(name: str, pass_class: type[ModulePass]) -> str:
    """The section of one pass: its docstring, then its options with type and default."""
    lines = [f"### {name}", "", inspect.cleandoc(pass_class.__doc__ or "(undocumented)"), ""]
    options = get_pass_option_infos(pass_class)
    if options:
        lines += ["| option | type | default |", "|---|---|---|"]
        for option in options:
            default = "(required)" if option.default_value is None else f"`{option.default_value}`"
            kind = option.expected_type.replace("|", "\\|")
            lines.append(f"| `{option.name}` | {kind} | {default} |")
        lines.append("")
    return "\n".join(lines)


def generate() -> str:
    """The whole page."""
    parts = [_HEAD]
    for title, registry in registries().items():
        parts.append(f"## {title}\n")
        parts += [describe(name, registry[name]()) for name in sorted(registry)]
    parts.append("## Named pipelines over hlo\n")
    for name, text in PIPELINES.items():
        passes = text.replace("},", "},\n").replace(",hlo-", ",\nhlo-")
        parts.append(f"### {name}\n\n```\n{passes}\n```\n")
    return "\n".join(parts).rstrip() + "\n"


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="pass_docs", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=DEFAULT_OUTPUT)
    parser.add_argument("--check", action="store_true", help="only compare with the file")
    options = parser.parse_args(arguments)
    text = generate()
    if options.check:
        current = options.output.read_text() if options.output.exists() else ""
        if current != text:
            print(f"{options.output} is out of date: run pass_docs again", file=sys.stderr)
            return 1
        return 0
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
