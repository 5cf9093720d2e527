"""Write a file with which neuron-opt reproduces a compiler bug."""

import os
import sys
import tempfile
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.support.output import atomic_write
from neuronir.driver.configuration import Configuration, render
from neuronir.driver.dumper import Dumper, DumpOptions
from neuronir.driver.dumps import ir_text
from neuronir.driver.pass_runner import PassRunner, RunFailure
from neuronir.driver.timer import Timer
from neuronir.pipeline import parse_pipeline, pipeline_text
from neuronir.registry import Registry


def write_reproducer(
    failure: RunFailure,
    load: Callable[[], ModuleOp],
    pipelines: Sequence[str],
    registry: Registry,
    name: str,
) -> None:
    """Write the IR before the failed pass (or phase), and report the path on stderr.

    Passes are deterministic: running them again up to the failure gives that IR. If a user's pass
    is not, and now fails earlier, the reproducer starts from the input.
    """
    ctx = registry.context()
    module = load()
    passes = [parse_pipeline(text, registry.passes, registry.pipelines) for text in pipelines]
    # Without a number the whole phase is at fault: its result is invalid.
    start = failure.index or 0
    failed = passes[-1] if failure.index is None else [passes[-1][start]]
    before = [p for phase in passes[:-1] for p in phase] + passes[-1][:start]
    runner = PassRunner(ctx, Dumper(DumpOptions(), ctx), Timer(), verify_each=False)
    try:
        runner.run(before, module)
    except RunFailure:
        module, failed = load(), [*before, *failed]
    handle, path = tempfile.mkstemp(prefix="neuronir-reproducer-", suffix=".mlir")
    os.close(handle)
    text = render(
        Configuration(pipeline_text(failed), load=[file.path for file in registry.files]),
        ir_text(module, ctx, name),
        failure.diagnostic.text,
    )
    atomic_write(path, text)
    print(f"note: reproducer written to {path}", file=sys.stderr)
