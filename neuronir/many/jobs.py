"""Jobs, their outcomes, and the interface of pools that run them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from neuronir.dialects.support.exhausted import exhausted, is_exhausted


@dataclass(frozen=True)
class Job:
    """One piece of work: `payload` is the argument of the function in the worker.

    Heavier jobs are started first, so that no long job is left for the end; `weight` has any unit.
    """

    name: str
    payload: Any
    weight: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """The outcome of a job. `value` is the result of the function, or None if there is none; `lost`
    then has the reason. `retries` counts the attempts after the first one; `seconds` is the wall
    time of the last one.
    """

    job: Job
    value: Any
    lost: str | None
    retries: int
    seconds: float
    worker: str


class Listener(Protocol):
    """A listener for the progress of jobs."""

    def began(self, job: Job) -> None:
        """Note that a worker has begun a job."""

    def ended(self, outcome: Outcome) -> None:
        """Note that a job is complete, or lost for good."""

    def again(self, job: Job, why: str) -> None:
        """Note that a job is lost and will be tried again."""


class Pool(Protocol):
    """A pool that runs jobs. `do` and the payloads are pickled."""

    def run(
        self,
        jobs: Sequence[Job],
        do: Callable[[Any], Any],
        *,
        retries: int,
        listener: Listener,
    ) -> list[Outcome]:
        """Run all jobs; return their outcomes in the order of the jobs. A job whose worker ends, or
        in which `do` raises an exception, is retried up to `retries` times.
        """


def reason(error: Exception) -> str:
    """Return why an exception lost a job, as one line."""
    if is_exhausted(error):
        found = exhausted(error)
        return f"[{found.code}] {found.message}"
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
