"""Imports of NeuronIR go down its layers, and in no circle.

Every import counts: at the top of a module, within a function, and for type checkers alone.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

LAYERS = (
    ("neuronir.dialects",),
    ("neuronir.passes",),
    ("neuronir.targets",),
    (
        "neuronir.version",
        "neuronir._xdsl",
        "neuronir._xdsl_verify",
        "neuronir.diagnostics",
        "neuronir.threads",
        "neuronir.nesting",
        "neuronir.pipeline",
        "neuronir.universe",
    ),
    ("neuronir.frontends",),
    ("neuronir.loaded_file", "neuronir.registry", "neuronir.driver"),
    (
        "neuronir.api",
        "neuronir.neff_program",
        "neuronir.jax",
        "neuronir.backend",
        "neuronir.accuracy",
        "neuronir.cache",
        "neuronir.cache_entry",
        "neuronir.cache_code",
        "neuronir.cache_graphs",
        "neuronir.cache_jobs",
        "neuronir.cache_place",
        "neuronir.cache_remote",
        "neuronir.explore",
        "neuronir.many",
    ),
    ("neuronir.cli",),
    ("neuronir.torch", "neuronir.torch_neuron", "neuronir.testing"),
    ("neuronir",),  # names its parts, and imports them when they are used
)
"""From the lowest up: a module may import from its own layer and from those below."""


@cache
def modules() -> dict[str, Path]:
    found = {}
    for top in ("neuronir", "dialects", "passes", "targets"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if top == "neuronir" and parts[1] in ("dialects", "passes", "targets"):
                continue  # links
            name = ".".join(parts if top == "neuronir" else ("neuronir", *parts))
            found[name.removesuffix(".__init__")] = path
    return found


def imported(name: str) -> Iterator[str]:
    """What a module imports of ours."""
    for node in ast.walk(ast.parse(modules()[name].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else node.module


@cache
def graph() -> dict[str, frozenset[str]]:
    return {
        name: frozenset(m for m in imported(name) if m in modules() and m != name)
        for name in modules()
    }


def layer(name: str) -> int:
    def within(part: str) -> bool:
        return name == part or (part != "neuronir" and name.startswith(f"{part}."))

    return next(i for i, parts in enumerate(LAYERS) if any(map(within, parts)))


def circles(edges: dict[str, frozenset[str]]) -> list[frozenset[str]]:
    """The sets of modules that reach each other: what is left when modules that import none of the
    others, and those that none of the others imports, are taken away, parted by reach."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        pending = [start]
        while pending:
            for m in edges[pending.pop()]:
                if m not in seen:
                    seen.add(m)
                    pending.append(m)
        return seen

    reach = {name: reached(name) for name in edges}
    found = {
        frozenset(m for m in reach[name] if name in reach[m])
        for name in edges
        if name in reach[name]
    }
    return sorted(found, key=sorted)


def test_circles_are_seen() -> None:
    edges = {"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("ad"), "d": frozenset()}
    assert circles(edges) == [frozenset("abc")]


def test_imports_go_down_the_layers() -> None:
    up = [f"{a} imports {b}" for a, of in graph().items() for b in of if layer(b) > layer(a)]
    assert not up, "\n".join(up)


def test_no_imports_go_in_a_circle() -> None:
    assert not [sorted(circle) for circle in circles(graph())]
