"""`neuronx-cc compile` of several models, on several workers."""

import json
import os
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from neuronir.cache_graphs import collecting
from neuronir.cli.cc_messages import Messages
from neuronir.cli.cc_pool import RETRIES, Progress, pool_of
from neuronir.cli.cc_request import Answer, Request, absolute, compile_one
from neuronir.cli.neuronx_cc_args import MANY, check, remarks
from neuronir.cli.neuronx_cc_compile import compile_request
from neuronir.cli.program import INTERNAL, OK, USER_ERROR, UsageError
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import atomic_write, check_outputs, output_error
from neuronir.driver.phases import PHASES
from neuronir.many.jobs import Job, Outcome

_ONE = ("report", "dump_phases_to", "timing", "pass_statistics", "logfile")
"""Options that show more of one model."""


def compile_many(args: Namespace, messages: Messages) -> int:
    """Compile every model of the command line; 0 if all are compiled.

    The outputs go into the folder --output, each under the name of its model.
    """
    for name in _ONE:
        if getattr(args, name):
            raise UsageError(f"--{name.replace('_', '-')} goes with one model")
    if "-" in args.model:
        raise UsageError("stdin (-) is only possible with a single model")
    check_outputs(args.summary)
    messages.level = args.verbose
    check(args)
    given = vars(args) | dict.fromkeys(MANY)
    for line in remarks(Namespace(**given)):
        messages.say("warning", line)
    outputs = _outputs(args)
    requests = [
        Request("neuronx-cc", absolute(given) | {"model": [model], "output": str(output)})
        for model, output in outputs.values()
    ]
    if collecting():
        return max(compile_request(request.given, messages) for request in requests)
    retries = RETRIES if args.retries is None else args.retries
    run = run_requests(args, list(outputs), requests, retries)
    if args.summary is not None:
        atomic_write(args.summary, json.dumps(run.summary(), indent=4) + "\n")
    return run.status


def _outputs(args: Namespace) -> dict[str, tuple[str, Path]]:
    """Return the absolute path and the output file of each model, by its name on the command line.

    A model that is named twice is compiled once, by its first name. Raises NIR_MANY003 if the
    outputs of two models are the same file.
    """
    folder = Path(args.output or ".").absolute()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise output_error(folder, error) from error
    suffix = ".neff" if args.compile_to == PHASES[-1] else ".mlir"
    names: dict[Path, str] = {}  # of models, by their output files
    outputs: dict[str, tuple[str, Path]] = {}
    for name in args.model:
        output = folder / f"{Path(name).stem}{suffix}"
        first = names.setdefault(output, name)
        if _place(first) != _place(name):
            raise NeuronError(
                "NIR_MANY003",
                f"'{first}' and '{name}' have the same output file '{output.name}'",
                help="rename one of them, or compile them separately",
            )
        outputs.setdefault(first, (str(Path(first).absolute()), output))
    return outputs


def _place(name: str) -> tuple[str, str]:
    """Return the resolved folder of a model, and its name there, which may be a link."""
    path = Path(name).absolute()
    return os.path.realpath(path.parent), path.name


@dataclass(frozen=True)
class ManyRun:
    """The outcomes of many compiles: `began` is when (seconds since 1970), `seconds` how long."""

    outcomes: Sequence[Outcome]
    began: float
    seconds: float

    @property
    def status(self) -> int:
        """The exit status: 0, 1 for models that are refused, 70 for internal errors and lost
        workers.
        """
        failed = [o for o in self.outcomes if o.lost is not None or o.value.status != OK]
        if not failed:
            return OK
        refused = all(o.lost is None and o.value.status == USER_ERROR for o in failed)
        return USER_ERROR if refused else INTERNAL

    def summary(self) -> dict[str, Any]:
        """Return the summary as JSON, in the form of neuron_parallel_compile."""
        report = {outcome.job.name: _reported(outcome) for outcome in self.outcomes}
        counts = [entry["status"] for entry in report.values()]
        summary = {"true": counts.count(True), "false": counts.count(False)}
        return {
            "compilation_summary": {key: count for key, count in summary.items() if count},
            "compilation_report": report,
            "start_time": self.began,
            "compilation_time": round(self.seconds, 3),
        }


def _reported(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = {"status": False, "retry": outcome.retries, "worker": outcome.worker}
    if outcome.lost is not None:
        return found | {"error": outcome.lost, "compile_time": round(outcome.seconds, 3)}
    answer: Answer = outcome.value
    found |= {
        "status": answer.status == OK,
        "exit_status": answer.status,
        "cached": answer.cached,
        "compile_time": round(answer.seconds, 3),
        "peak_memory_bytes": answer.peak_bytes,
    }
    if answer.text:
        found["messages"] = answer.text.splitlines()
    return found


def run_requests(
    args: Namespace, names: Sequence[str], requests: Sequence[Request], retries: int
) -> ManyRun:
    """Compile on the workers that the options ask for, with lines of progress."""
    jobs = [
        Job(name, request, _weight(request.given["model"][0]))
        for name, request in zip(names, requests, strict=True)
    ]
    began, start = time.time(), time.perf_counter()
    with pool_of(args, len(jobs)) as pool, Progress(len(jobs), _described).shown() as progress:
        outcomes = pool.run(jobs, compile_one, retries=retries, listener=progress)
    run = ManyRun(outcomes, began, time.perf_counter() - start)
    print(_last_line(run), flush=True)
    return run


def _weight(model: str) -> float:
    """Return the bytes of a model; the largest models are compiled first."""
    path = Path(model)
    try:
        if path.is_dir():
            return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        return path.stat().st_size
    except OSError:
        return 0.0


def _described(outcome: Outcome) -> str:
    """Describe an outcome in a few words; warnings and errors of the compile go to stderr."""
    answer: Answer = outcome.value
    whole = outcome.job.payload.given["model"][0]
    for line in answer.text.replace(whole, outcome.job.name).splitlines():
        print(line, file=sys.stderr, flush=True)
    what = "compiled" if answer.status == OK else f"failed with status {answer.status}"
    how = "from the cache, " if answer.cached else ""
    return f"{what} ({how}{answer.seconds:.2f} s, {answer.peak_bytes >> 20} MiB)"


def _last_line(run: ManyRun) -> str:
    done = [o.value for o in run.outcomes if o.lost is None]
    good = [answer for answer in done if answer.status == OK]
    cached = sum(answer.cached for answer in good)
    at = datetime.fromtimestamp(run.began).strftime("%H:%M:%S")
    parts = [f"{len(good) - cached} compiled", f"{cached} from the cache"]
    parts += [f"{len(done) - len(good)} failed", f"{len(run.outcomes) - len(done)} lost"]
    work = sum(answer.seconds for answer in done)
    return (
        f"{len(run.outcomes)} models: {', '.join(parts)}; {run.seconds:.1f} s since {at}, "
        f"{work:.1f} s of work"
    )
