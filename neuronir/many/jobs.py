"""Jobs, what became of them, and the place that runs them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Job:
    """One piece of work: `payload` is what a function in a worker gets.

    Heavier jobs begin first, so that no long one is left for the end; `weight` is in any unit.
    """

    name: str
    payload: Any
    weight: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    `value` is what the function returned; None if there is no result, and `lost` says why.
    `retries` counts the attempts after the first one; `seconds` is the wall time of the last one.
    """

    job: Job
    value: Any
    lost: str | None
    retries: int
    seconds: float
    worker: str


class Listener(Protocol):
    """Who is told of the progress."""

    def began(self, job: Job) -> None:
        """A worker has begun a job."""

    def ended(self, outcome: Outcome) -> None:
        """A job is done, or lost for good."""

    def again(self, job: Job, why: str) -> None:
        """A job is lost, and will be tried again."""


class Pool(Protocol):
    """A place that runs jobs. `do` and the payloads are pickled."""

    def run(
        self,
        jobs: Sequence[Job],
        do: Callable[[Any], Any],
        *,
        retries: int,
        listener: Listener,
    ) -> list[Outcome]:
        """Run all jobs; their outcomes in the order of the jobs.

        A job whose worker ends, or in which `do` raises, is tried `retries` times more.
        """
