"""The workers that the options request, and the progress of their jobs."""

import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from neuronir.cache_place import size_of
from neuronir.cli.program import UsageError
from neuronir.dialects.support.printable import printable
from neuronir.many.jobs import Job, Outcome, Pool

RETRIES = 1
_SHORT_S = 5.0


@contextmanager
def pool_of(args: Namespace, jobs: int) -> Iterator[Pool]:
    """Start the workers for `jobs` jobs, as the options of `cc_args.add_pool` request."""
    memory = None if args.memory_limit is None else size_of(args.memory_limit, "--memory-limit")
    if memory == 0:
        raise UsageError("--memory-limit 0: a worker needs memory; the default is no limit")
    if args.scheduler and args.jobs is not None:
        raise UsageError("--scheduler and --jobs exclude each other: a cluster has its own workers")
    if args.scheduler:
        from neuronir.many.dask_pool import remote_pool

        with remote_pool(args.scheduler, memory) as pool:
            yield pool
        return
    workers = min(args.jobs or len(os.sched_getaffinity(0)), jobs)
    if workers == 1:
        from neuronir.many.serial import SerialPool

        yield SerialPool(memory)
        return
    from neuronir.many.dask_pool import local_pool

    with local_pool(workers, memory) as pool:
        yield pool


@dataclass
class Progress:
    """Show the progress of jobs: a bar on a terminal, and one line for each completed job.

    `describe` returns a short description of an outcome.
    """

    total: int
    describe: Any
    running: list[str] = field(default_factory=list)
    done: int = 0
    start: float = field(default_factory=time.monotonic)
    _bar: Any = None
    _task: Any = None

    @contextmanager
    def shown(self) -> Iterator["Progress"]:
        """Show the bar inside this block, if stderr is a terminal."""
        if not sys.stderr.isatty():
            yield self
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("{task.description}", markup=False),
        )
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            self._bar, self._task = bar, bar.add_task("", total=self.total)
            yield self
        self._bar = None

    def began(self, job: Job) -> None:
        """Note that a worker has begun a job."""
        self.running.append(job.name)
        self._refresh()

    def again(self, job: Job, why: str) -> None:
        """Report that a job is lost and will be tried again."""
        self._stopped(job)
        self._print(f"again: {printable(job.name)}: {printable(why)}")

    def ended(self, outcome: Outcome) -> None:
        """Report that a job is complete, or lost for good."""
        self._stopped(outcome.job)
        self.done += 1
        if outcome.lost is None:
            text = self.describe(outcome)
        else:
            text = f"lost: {printable(outcome.lost)}"
        name = printable(outcome.job.name)
        self._print(f"[{self.done}/{self.total}] {name}: {text}{self._left()}")
        self._refresh()

    def _left(self) -> str:
        """Return the estimated remaining time, or an empty text if too little is known."""
        passed = time.monotonic() - self.start
        rest = self.total - self.done
        if not rest or passed < _SHORT_S:
            return ""
        return f", {passed * rest / self.done:.0f} s left"

    def _stopped(self, job: Job) -> None:
        if job.name in self.running:
            self.running.remove(job.name)

    def _refresh(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, description=", ".join(self.running))

    def _print(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(line, flush=True)
