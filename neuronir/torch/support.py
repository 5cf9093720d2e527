"""Check which operators of a program the compiler supports, one by one."""

import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from xdsl.dialects.builtin import UnknownLoc

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import METADATA
from neuronir.dialects.support.walking import walk
from neuronir.driver.dumps import ir_text
from neuronir.frontends.torch.parts import Asked, AskingImporter, is_operator
from neuronir.frontends.torch.unsupported import operator_name
from neuronir.registry import Registry

LOWERING, COMPILER = "Lowering to HLO", "neuronx-cc"
"""The location of a failed operator."""


@dataclass(frozen=True)
class Failure:
    """Why an operator is not supported."""

    at: str
    why: str


def kind_of(node: Any) -> str:
    """Return kinds such as `aten::add`."""
    name = operator_name(node)
    namespace, _, own = name.partition(".")
    return f"{namespace}::{own.partition('.')[0]}" if own else name


def support(
    program: Any,
    arguments: Namespace,
    *,
    workers: int = 4,
    workdir: str | None = None,
    unsupported: Collection[str] = (),
    wanted: Callable[[Any], bool] = lambda node: True,
) -> Mapping[Any, Failure | None]:
    """Return for each operator node of an exported program why the compiler does not support it, or
    None.

    Operators with the same types and arguments are checked once, in `workers` processes. The kinds
    in `unsupported` are not checked, and neither are nodes that are not `wanted`.
    """
    asked = AskingImporter(program, "operators").asked()
    found: dict[Any, Failure | None] = {}
    waiting: dict[str, list[Any]] = {}
    context = Registry.discover().context()
    for node, answer in asked.items():
        if kind_of(node) in unsupported or not wanted(node):
            found[node] = Failure(LOWERING, "it is to run on the host")
        elif answer.why is not None:
            found[node] = Failure(LOWERING, answer.why.message)
        elif answer.module is None:
            found[node] = None
        else:
            waiting.setdefault(_text(answer, context), []).append(node)
    answers = _compiled(list(waiting), arguments, workers, workdir)
    for nodes, why in zip(waiting.values(), answers, strict=True):
        for node in nodes:
            found[node] = None if why is None else Failure(COMPILER, why)
    return {n: found[n] for n in program.graph.nodes if is_operator(n) and n in found}


def _text(answer: Asked, context: Any) -> str:
    """Return the module as text, without differences between operators of one configuration."""
    assert answer.module is not None
    for op in walk(answer.module):
        op.attributes.pop(METADATA, None)
        op.location = UnknownLoc()
        for result in op.results:
            result.name_hint = None
    return ir_text(answer.module, context, "operator")


def _compiled(
    texts: Sequence[str], arguments: Namespace, workers: int, workdir: str | None
) -> list[str | None]:
    """Return why each program does not compile."""
    if not texts:
        return []
    with TemporaryDirectory() as temporary:
        folder = Path(temporary if workdir is None else workdir) / "operators"
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / f"{i}.mlir" for i in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        count = max(1, min(workers, len(files)))
        with ThreadPoolExecutor(count) as pool:
            parts = [files[i::count] for i in range(count)]
            lines = pool.map(lambda part: _ask(part, arguments), parts)
            answers = dict(line for part in lines for line in part)
        return [answers[str(file)] for file in files]


def _ask(files: Sequence[Path], arguments: Namespace) -> list[tuple[str, str | None]]:
    """Check some of the programs in one process."""
    words = [sys.executable, "-m", "neuronir.driver.ask"]
    words += [arguments.target, arguments.precision.auto_cast, *map(str, files)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    answers = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    if len(answers) != len(files):
        text = done.stderr.strip().splitlines()
        raise NeuronError(
            "NIR_TORCH012",
            f"the check of an operator failed at {files[len(answers)].name}: "
            + (text[-1] if text else f"exit status {done.returncode}"),
        )
    return answers
