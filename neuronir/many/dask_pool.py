"""Run jobs on the workers of Dask clusters: processes of this computer, or clusters by address.

Dask starts the workers, restarts those that end, and moves jobs and results. This module decides
which job goes where: a worker has one job at a time, so a worker that ends loses that job only.
Dask itself would also blame the jobs that wait at the worker.
"""

import logging
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from neuronir.dialects.support.errors import NeuronError
from neuronir.many.jobs import Job, Listener, Outcome
from neuronir.many.limits import limited

if TYPE_CHECKING:
    from distributed import Client, Future

_TICK_S = 0.25
"""How often the workers are listed: a worker that ended is seen after this time."""
_PATIENCE_S = 60.0
"""How long there may be no worker before the remaining jobs are given up."""
_CONNECT_S = 15.0

_LOCAL = {
    # The job that was running is lost at once, and is tried again here.
    "distributed.scheduler.allowed-failures": 0,
    # The only limit is that of `limited`, whose error names the job.
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.terminate": False,
    # Samplers of Dask's dashboard: 5 % of a core while jobs run.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
_NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Its server runs nevertheless: on any free port, seen from this computer only."""


@dataclass
class _Running:
    """A job at a worker."""

    job: Job
    attempt: int
    client: "Client"
    worker: str
    future: "Future"
    start: float = field(default_factory=time.perf_counter)


@contextmanager
def local_pool(workers: int, memory: int | None = None) -> Iterator["DaskPool"]:
    """A pool of `workers` processes of this computer, of which each may have `memory` bytes."""
    _require_dask()
    import dask
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_LOCAL))
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            scheduler_kwargs=_NO_DASHBOARD,
            silence_logs=logging.CRITICAL,
        )
        stack.callback(_quietly, cluster.close)
        client = Client(cluster)
        stack.callback(_quietly, client.close)
        yield DaskPool([client], memory)


@contextmanager
def remote_pool(addresses: Sequence[str], memory: int | None = None) -> Iterator["DaskPool"]:
    """A pool of the workers of clusters, by the addresses of their schedulers."""
    _require_dask()
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        clients = []
        for address in addresses:
            try:
                client = Client(address, timeout=_CONNECT_S, set_as_default=False)
            except (OSError, TimeoutError, ValueError) as error:
                why = " ".join(str(error).split())
                raise NeuronError(
                    "NIR_MANY002",
                    f"there is no Dask scheduler at '{address}': {why}",
                    help="start one with `dask scheduler`, and workers with `dask worker ADDRESS`",
                ) from error
            stack.callback(_quietly, client.close)
            clients.append(client)
        yield DaskPool(clients, memory)


def _require_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise NeuronError(
            "NIR_MANY001",
            "compiles on several workers need Dask, which is not installed",
            help="pip install 'neuronir[parallel]', or use --jobs 1",
        ) from error


def _quietly(close: Callable[[], object]) -> None:
    """Close what may be broken already."""
    with suppress(Exception):
        close()


def _limited_do(do: Callable[[Any], Any], payload: Any, memory: int | None) -> Any:
    """In a worker: a job within a limit of memory."""
    with limited(memory):
        return do(payload)


@dataclass
class DaskPool:
    """The workers of clusters, each within `memory` bytes."""

    clients: "list[Client]"
    memory: int | None = None

    def run(
        self,
        jobs: Sequence[Job],
        do: Callable[[Any], Any],
        *,
        retries: int,
        listener: Listener,
    ) -> list[Outcome]:
        """Run all jobs, the heaviest first; their outcomes in the order of the jobs."""
        return _Run(self, do, retries, listener).all(jobs)


class _Run:
    """One run of a pool: `waiting` jobs with the numbers of their attempts, and `running` ones."""

    def __init__(
        self, pool: DaskPool, do: Callable[[Any], Any], retries: int, listener: Listener
    ) -> None:
        self.pool = pool
        self.do = do
        self.retries = retries
        self.listener = listener
        self.waiting: deque[tuple[Job, int]] = deque()
        self.running: dict[str, _Running] = {}  # by the key of the future
        self.done: dict[str, Outcome] = {}
        self.events: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.last_worker = time.monotonic()

    def all(self, jobs: Sequence[Job]) -> list[Outcome]:
        """The outcomes of all jobs, whose names are distinct."""
        self.waiting.extend((job, 0) for job in sorted(jobs, key=lambda job: -job.weight))
        while self.waiting or self.running:
            workers, silent = self._workers()
            self._find_lost(workers, silent)
            self._submit(workers)
            self._collect()
            if time.monotonic() - self.last_worker > _PATIENCE_S:
                self._give_up()
        return [self.done[job.name] for job in jobs]

    def _workers(self) -> "tuple[list[tuple[Client, str]], set[int]]":
        """The workers that are there, with their clusters; and the clusters that did not answer."""
        found, silent = [], set()
        for client in self.pool.clients:
            if client.status != "running":
                continue
            try:
                info = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=10)
                found += [(client, str(address)) for address in info["workers"]]
            # A busy scheduler, or one that is ending: the next tick tells.
            except Exception:
                silent.add(id(client))
        if found:
            self.last_worker = time.monotonic()
        return found, silent

    def _find_lost(self, workers: "Sequence[tuple[Client, str]]", silent: set[int]) -> None:
        """Take back the jobs of workers that are gone, and of clusters that are."""
        there = {(id(client), address) for client, address in workers}
        for key, at in list(self.running.items()):
            if at.future.status in ("finished", "error"):
                continue  # `_collect` takes it
            if id(at.client) in silent and at.client.status == "running":
                continue
            if (id(at.client), at.worker) not in there or at.future.status == "cancelled":
                del self.running[key]
                with suppress(Exception):
                    at.future.cancel()
                if at.client.status == "running":
                    self._lost(at, "its worker ended")
                else:  # no fault of the job
                    self._retry(at, at.attempt, "its cluster ended")

    def _submit(self, workers: "Sequence[tuple[Client, str]]") -> None:
        """Give a waiting job to each idle worker."""
        busy = {(id(at.client), at.worker) for at in self.running.values()}
        for client, address in workers:
            if not self.waiting:
                return
            if (id(client), address) in busy:
                continue
            job, attempt = self.waiting.popleft()
            try:
                future = client.submit(
                    _limited_do,
                    self.do,
                    job.payload,
                    self.pool.memory,
                    workers=[address],
                    allow_other_workers=False,
                    pure=False,
                )
            except Exception as error:  # the cluster is going
                self.listener.again(job, " ".join(str(error).split()))
                self.waiting.appendleft((job, attempt))
                continue
            self.running[future.key] = _Running(job, attempt, client, address, future)
            self.listener.began(job)
            future.add_done_callback(lambda done: self.events.put(done.key))

    def _collect(self) -> None:
        """Wait for a job to end, but not long; then take all that ended."""
        with suppress(queue.Empty):
            key = self.events.get(timeout=_TICK_S)
            while True:
                self._take(key)
                key = self.events.get_nowait()

    def _take(self, key: str) -> None:
        at = self.running.get(key)
        if at is None or at.future.status not in ("finished", "error"):
            return  # taken back meanwhile, or about to be
        del self.running[key]
        from distributed.scheduler import KilledWorker

        try:
            value = at.future.result(timeout=_CONNECT_S)
        except KilledWorker:
            self._lost(at, "its worker ended")
        # Whatever the function raised in the worker; also that the result went with its worker.
        except Exception as error:
            self._lost(at, f"{type(error).__name__}: {' '.join(str(error).split())}")
        else:
            self._end(at, value, None)
        at.future.release()

    def _lost(self, at: _Running, why: str) -> None:
        if at.attempt < self.retries:
            self._retry(at, at.attempt + 1, why)
        else:
            self._end(at, None, why)

    def _retry(self, at: _Running, attempt: int, why: str) -> None:
        self.listener.again(at.job, why)
        self.waiting.append((at.job, attempt))

    def _end(self, at: _Running, value: Any, lost: str | None) -> None:
        seconds = time.perf_counter() - at.start
        outcome = Outcome(at.job, value, lost, at.attempt, seconds, at.worker)
        self.done[at.job.name] = outcome
        self.listener.ended(outcome)

    def _give_up(self) -> None:
        """No worker is left: end the jobs that remain."""
        for at in self.running.values():
            self._end(at, None, "no worker is left")
        self.running.clear()
        while self.waiting:
            job, attempt = self.waiting.popleft()
            outcome = Outcome(job, None, "no worker is left", attempt, 0.0, "none")
            self.done[job.name] = outcome
            self.listener.ended(outcome)
