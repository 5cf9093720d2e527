"""neuron-opt's answers to "what is there?"."""

import dataclasses
import inspect
from collections.abc import Iterable

from xdsl.passes import ModulePass, get_pass_option_infos

from neuronir.dialects.support.errors import NeuronError
from neuronir.pipeline import parse_pipeline, pipeline_text
from neuronir.registry import Registry
from neuronir.targets.registry import get_target, list_targets


def summary(thing: object) -> str:
    """The first sentence or line of a docstring, without dataclass's generated ones."""
    text = inspect.getdoc(thing) or ""
    name = getattr(thing, "__name__", "")
    if name and text.startswith(f"{name}("):
        return ""
    return text.split("\n\n")[0].replace("\n", " ").strip()


def _by_owner(registry: Registry, kind: str, names: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        groups.setdefault(registry.owners[f"{kind} {name}"], []).append(name)
    # Ours, then plugins, then the long list of xDSL.
    order = sorted(groups, key=lambda owner: (owner == "xdsl", owner != "neuronir", owner))
    return {owner: groups[owner] for owner in order}


def list_passes(registry: Registry) -> str:
    """One pass a line with its summary, grouped by the package that it comes from."""
    lines = []
    for owner, names in _by_owner(registry, "pass", registry.passes).items():
        lines.append(f"{owner}:")
        width = max(map(len, names))
        for name in names:
            # Importing all of xDSL's passes for their first lines would take a second.
            text = "" if owner == "xdsl" else _summary_of_pass(registry, name)
            lines.append(f"  {name:{width}}  {text}".rstrip())
    return "\n".join(lines) + "\n"


def _summary_of_pass(registry: Registry, name: str) -> str:
    # One pass of a plugin that cannot be imported must not hide all the others.
    try:
        return summary(registry.passes[name]())
    except (ImportError, AttributeError) as error:
        return f"(cannot be loaded: {error})"


def list_dialects(registry: Registry) -> str:
    """One dialect a line, grouped by the package that it comes from."""
    lines = []
    for owner, names in _by_owner(registry, "dialect", registry.dialects).items():
        lines.append(f"{owner}:")
        lines.extend(f"  {name}" for name in names)
    return "\n".join(lines) + "\n"


def list_machine_targets() -> str:
    """One machine target a line with its description."""
    names = list_targets()
    width = max(map(len, names), default=0)
    return "".join(f"{name:{width}}  {get_target(name).description}\n" for name in names)


def list_pipelines(registry: Registry) -> str:
    """Every named pipeline with its pass string, which `-p` takes."""
    lines = []
    for name, text in registry.pipelines().items():
        passes = parse_pipeline(text, registry.passes, registry.pipelines)
        lines.append(f"@{name} = {pipeline_text(passes)}")
    return "\n".join(lines) + "\n"


def help_pass(registry: Registry, name: str) -> str:
    """What a pass does, and its options with type and default."""
    if name not in registry.passes:
        raise NeuronError("NIR_PIPELINE", f"unknown pass '{name}'", help="see --list-passes")
    pass_type = registry.passes[name]()
    lines = [f"{name} (from {registry.owners[f'pass {name}']})", ""]
    text = inspect.getdoc(pass_type) or ""
    if text and not text.startswith(f"{pass_type.__name__}("):
        lines += [*(f"  {line}".rstrip() for line in text.splitlines()), ""]
    options = [o for o in get_pass_option_infos(pass_type) if o.name != "name"]
    lines.append("Options:" if options else "It has no options.")
    documented = _option_help(pass_type)
    for option in options:
        default = "required" if option.default_value is None else f"default {option.default_value}"
        lines.append(f"  {option.name.replace('_', '-')}: {option.expected_type} ({default})")
        if option.name in documented:
            lines.append(f"      {documented[option.name]}")
    return "\n".join(lines) + "\n"


def document_passes(registry: Registry) -> str:
    """The page docs/passes.md: NeuronIR's own passes, from their declarations."""
    parts = [
        "# Passes\n\nWritten by `make docs` from the declarations of the passes; do not edit.\n",
        *(
            _document(registry.passes[name](), name)
            for name in _by_owner(registry, "pass", registry.passes).get("neuronir", [])
        ),
        "## Named pipelines\n",
        "| name | passes |\n|---|---|",
        *(f"| `@{name}` | `{text}` |" for name, text in registry.pipelines().items()),
    ]
    return "\n".join(parts) + "\n"


def _document(pass_type: type[ModulePass], name: str) -> str:
    text = inspect.getdoc(pass_type) or ""
    lines = [f"## {name}\n"]
    if text and not text.startswith(f"{pass_type.__name__}("):
        lines += [text, ""]
    options = [o for o in get_pass_option_infos(pass_type) if o.name != "name"]
    if options:
        documented = _option_help(pass_type)
        lines += ["| option | type | default | |", "|---|---|---|---|"]
        for option in options:
            default = "required" if option.default_value is None else f"`{option.default_value}`"
            kind = option.expected_type.replace("|", "\\|")
            shown = option.name.replace("_", "-")
            lines.append(f"| `{shown}` | {kind} | {default} | {documented.get(option.name, '')} |")
        lines.append("")
    return "\n".join(lines)


def _option_help(pass_type: type[ModulePass]) -> dict[str, str]:
    """Option descriptions: `field(metadata={"help": ...})`."""
    return {
        f.name: str(f.metadata["help"])
        for f in dataclasses.fields(pass_type)
        if "help" in f.metadata
    }
