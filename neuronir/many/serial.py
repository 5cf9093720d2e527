"""Run jobs one after another in this process, without Dask."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from neuronir.many.jobs import Job, Listener, Outcome, reason
from neuronir.many.limits import limited


@dataclass(frozen=True)
class SerialPool:
    """A `Pool` in this process: a job that ends the process ends all jobs. `memory` limits it
    (bytes).
    """

    memory: int | None = None

    def run(
        self,
        jobs: Sequence[Job],
        do: Callable[[Any], Any],
        *,
        retries: int,
        listener: Listener,
    ) -> list[Outcome]:
        """Run all jobs in order; a job in which `do` raises an exception is retried up to `retries`
        times.
        """
        return [self._one(job, do, retries, listener) for job in jobs]

    def _one(self, job: Job, do: Callable[[Any], Any], retries: int, listener: Listener) -> Outcome:
        for attempt in range(retries + 1):
            listener.began(job)
            start = time.perf_counter()
            value, lost = None, None
            try:
                with limited(self.memory):
                    value = do(job.payload)
            # As in a worker: one job must not end the others.
            except Exception as error:
                lost = reason(error)
            seconds = time.perf_counter() - start
            outcome = Outcome(job, value, lost, attempt, seconds, "this process")
            if lost is None or attempt == retries:
                break
            listener.again(job, lost)
        listener.ended(outcome)
        return outcome
