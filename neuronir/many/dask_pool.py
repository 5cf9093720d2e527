"""Run jobs on the workers of Dask clusters: processes of this computer, or clusters by address.

Dask starts the workers, restarts those that end, and moves jobs and results. This module decides
which job goes where: a worker has one job at a time, so a worker that ends loses that job only.
Dask itself would also blame the jobs that wait at the worker.
"""

import asyncio
import logging
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from neuronir.dialects.support.errors import NeuronError
from neuronir.many.jobs import Job, Listener, Outcome, reason
from neuronir.many.limits import limited

if TYPE_CHECKING:
    from distributed import Client, Future

_TICK_S = 0.25
"""How often the workers are listed: a worker that ended is seen after this time."""
_PATIENCE_S = 60.0
"""The time without any worker after which the remaining jobs are given up, and the time without an
answer after which a cluster's jobs go to another cluster.
"""
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
class _Cluster:
    """A cluster, and its workers according to its latest answer.

    Requests do not block: while one cluster does not answer, the others continue.
    """

    client: "Client"
    workers: list[str] = field(default_factory=list)
    answered: float = field(default_factory=time.monotonic)
    silent: bool = True
    asked: "futures.Future[Any] | None" = None

    @property
    def runs(self) -> bool:
        """Whether the connection to the scheduler is open."""
        return bool(self.client.status == "running")

    def ask(self) -> "futures.Future[Any] | None":
        """Request the list of workers, unless a request is pending; return the pending request."""
        if not self.runs:
            self.asked = None
        elif self.asked is None:
            with suppress(Exception):  # the cluster is ending
                question = self.client.scheduler.identity(n_workers=-1)
                loop = self.client.loop.asyncio_loop
                self.asked = asyncio.run_coroutine_threadsafe(question, loop)
        return self.asked

    def hear(self) -> None:
        """Read the answer if it has arrived."""
        self.silent = True
        if self.asked is None or not self.asked.done():
            return
        asked, self.asked = self.asked, None
        # The scheduler is busy or shutting down; the next query decides.
        with suppress(Exception, futures.CancelledError):
            self.workers = [str(address) for address in asked.result()["workers"]]
            self.answered = time.monotonic()
            self.silent = False

    @property
    def gone(self) -> bool:
        """Whether the cluster is lost."""
        return not self.runs or time.monotonic() - self.answered > _PATIENCE_S


@dataclass
class _Attempt:
    """A job at a worker; `number` counts the attempts that were its own fault."""

    job: Job
    number: int
    cluster: _Cluster
    worker: str
    start: float = field(default_factory=time.perf_counter)


@contextmanager
def local_pool(workers: int, memory: int | None = None) -> Iterator["DaskPool"]:
    """Start a pool of `workers` processes on this computer, each limited to `memory` bytes."""
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
    """Open a pool of the workers of clusters, given the addresses of their schedulers."""
    _require_dask()
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        clients = []
        for address in addresses:
            try:
                _check_address(address)
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


def _check_address(address: str) -> None:
    """Raise ValueError for an address without a port: Dask leaves a broken client for it."""
    from distributed.comm.addressing import parse_address, parse_host_port

    scheme, place = parse_address(address)
    if scheme in ("tcp", "tls"):
        parse_host_port(place)


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
    """Close an object that may already be broken."""
    with suppress(Exception):
        close()


def _limited_do(do: Callable[[Any], Any], payload: Any, memory: int | None) -> Any:
    """Run a job in a worker, with limited memory."""
    with limited(memory):
        return do(payload)


@dataclass
class DaskPool:
    """A `Pool` of the workers of clusters, each within `memory` bytes."""

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
        """Run all jobs, the heaviest first; return their outcomes in the order of the jobs."""
        return _Run(self, do, retries, listener).all(jobs)


class _Run:
    """One run of a pool: `waiting` jobs with the numbers of their attempts, and `running` ones."""

    def __init__(
        self, pool: DaskPool, do: Callable[[Any], Any], retries: int, listener: Listener
    ) -> None:
        self.clusters = [_Cluster(client) for client in pool.clients]
        self.memory = pool.memory
        self.do = do
        self.retries = retries
        self.listener = listener
        self.waiting: deque[tuple[Job, int]] = deque()
        self.running: dict[str, tuple[_Attempt, Future]] = {}  # by the key of the future
        self.done: dict[str, Outcome] = {}
        self.events: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.last_worker = time.monotonic()

    def all(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run all jobs, whose names are distinct, and return their outcomes."""
        self.waiting.extend((job, 0) for job in sorted(jobs, key=lambda job: -job.weight))
        while self.waiting or self.running:
            self._list_workers()
            self._find_lost()
            self._submit()
            self._collect()
            if time.monotonic() - self.last_worker > _PATIENCE_S:
                self._give_up()
        return [self.done[job.name] for job in jobs]

    def _list_workers(self) -> None:
        """Request the workers of every cluster, and wait for the answers for a limited time."""
        asked = [question for one in self.clusters if (question := one.ask()) is not None]
        futures.wait(asked, timeout=_TICK_S)
        for cluster in self.clusters:
            cluster.hear()
            if not cluster.silent and cluster.workers:
                self.last_worker = time.monotonic()

    def _find_lost(self) -> None:
        """Take back the jobs of lost workers and lost clusters."""
        for key, (at, future) in list(self.running.items()):
            if future.status in ("finished", "error"):
                continue  # `_collect` takes it
            gone = at.cluster.gone
            if at.cluster.silent and not gone:
                continue
            if gone or at.worker not in at.cluster.workers or future.status == "cancelled":
                del self.running[key]
                with suppress(Exception):
                    future.cancel()
                if not gone:
                    self._lost(at, "its worker ended")
                else:  # no fault of the job
                    why = "does not answer" if at.cluster.runs else "ended"
                    self._retry(at, at.number, f"its cluster {why}")

    def _submit(self) -> None:
        """Give a waiting job to each idle worker of the clusters that answer."""
        busy = {(id(at.cluster), at.worker) for at, _ in self.running.values()}
        for cluster in self.clusters:
            for address in () if cluster.silent else cluster.workers:
                if self.waiting and (id(cluster), address) not in busy:
                    self._begin(_Attempt(*self.waiting.popleft(), cluster, address))

    def _begin(self, at: _Attempt) -> None:
        """Give a job to a worker."""
        try:
            future = at.cluster.client.submit(
                _limited_do,
                self.do,
                at.job.payload,
                self.memory,
                workers=[at.worker],
                allow_other_workers=False,
                pure=False,
            )
        # Of a cluster that is going, which is no fault of the job; or it cannot be pickled.
        except Exception as error:
            if at.cluster.runs:
                self._lost(at, reason(error))
            else:
                self._retry(at, at.number, reason(error))
            return
        self.running[future.key] = at, future
        self.listener.began(at.job)
        future.add_done_callback(lambda done: self.events.put(done.key))

    def _collect(self) -> None:
        """Wait for a job to end for a limited time; then collect all that have ended."""
        with suppress(queue.Empty):
            key = self.events.get(timeout=_TICK_S)
            while True:
                self._take(key)
                key = self.events.get_nowait()

    def _take(self, key: str) -> None:
        at, future = self.running.get(key, (None, None))
        if at is None or future is None or future.status not in ("finished", "error"):
            return  # taken back meanwhile, or about to be
        del self.running[key]
        from distributed.scheduler import KilledWorker

        try:
            value = future.result(timeout=_CONNECT_S)
        except KilledWorker:
            self._lost(at, "its worker ended")
        # Any exception of the function in the worker, or the loss of the result with its worker.
        except Exception as error:
            self._lost(at, reason(error))
        else:
            self._end(at, value, None)
        future.release()

    def _lost(self, at: _Attempt, why: str) -> None:
        if at.number < self.retries:
            self._retry(at, at.number + 1, why)
        else:
            self._end(at, None, why)

    def _retry(self, at: _Attempt, number: int, why: str) -> None:
        self.listener.again(at.job, why)
        self.waiting.append((at.job, number))

    def _end(self, at: _Attempt, value: Any, lost: str | None) -> None:
        seconds = time.perf_counter() - at.start
        outcome = Outcome(at.job, value, lost, at.number, seconds, at.worker)
        self.done[at.job.name] = outcome
        self.listener.ended(outcome)

    def _give_up(self) -> None:
        """End the remaining jobs, because no worker is left."""
        for at, _ in self.running.values():
            self._end(at, None, "no worker is left")
        self.running.clear()
        while self.waiting:
            job, number = self.waiting.popleft()
            outcome = Outcome(job, None, "no worker is left", number, 0.0, "none")
            self.done[job.name] = outcome
            self.listener.ended(outcome)
