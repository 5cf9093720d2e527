"""Jobs on pools of workers: a worker that ends loses its own job, and nothing else."""

import errno
import resource
import signal
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from neuronir.dialects.support.errors import NeuronError
from neuronir.many.dask_pool import _NO_DASHBOARD, DaskPool, remote_pool
from neuronir.many.jobs import Job, Outcome, Pool, reason
from neuronir.many.limits import limited
from neuronir.many.serial import SerialPool
from tests.many.conftest import LIMIT
from tests.many.work import do

distributed = pytest.importorskip("distributed")
IN_PROCESS = {
    "threads_per_worker": 1,
    "processes": False,
    "dashboard_address": None,
    "scheduler_kwargs": _NO_DASHBOARD,
}


class Heard:
    """A listener that keeps all."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.over: list[str] = []
        self.lost: list[tuple[str, str]] = []

    def began(self, job: Job) -> None:
        self.begun.append(job.name)

    def ended(self, outcome: Outcome) -> None:
        self.over.append(outcome.job.name)

    def again(self, job: Job, why: str) -> None:
        self.lost.append((job.name, why))


@pytest.fixture(params=["local", "serial"])
def pool(request: pytest.FixtureRequest) -> Pool:
    if request.param == "local":
        found: DaskPool = request.getfixturevalue("local")
        return found
    return SerialPool(LIMIT)


def say(count: int) -> list[Job]:
    return [Job(f"j{n}", ("say", n)) for n in range(count)]


def values(outcomes: list[Outcome]) -> list[Any]:
    return [outcome.value for outcome in outcomes]


def allocated(pool: Pool) -> list[Any]:
    """Allocate more than the limit, then less."""
    jobs = [Job("large", ("allocate", 2 * LIMIT)), Job("small", ("allocate", 1 << 20))]
    return values(pool.run(jobs, do, retries=0, listener=Heard()))


def test_results_in_the_order_of_the_jobs(pool: Pool) -> None:
    heard = Heard()
    outcomes = pool.run(say(6), do, retries=0, listener=heard)
    assert values(outcomes) == list(range(6))
    assert sorted(heard.begun) == sorted(heard.over) == [f"j{n}" for n in range(6)]
    assert all(outcome.lost is None and outcome.seconds < 60 for outcome in outcomes)
    assert pool.run([], do, retries=0, listener=heard) == []


def test_function_that_raises(pool: Pool) -> None:
    heard = Heard()
    jobs = [Job("bad", ("fail", "x")), *say(2)]
    bad, *good = pool.run(jobs, do, retries=2, listener=heard)
    assert bad.lost == "KeyError: 'x'" and bad.retries == 2 and bad.value is None
    assert values(good) == [0, 1]
    assert heard.lost == [("bad", "KeyError: 'x'")] * 2


@pytest.mark.parametrize(
    "error",
    [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory", "folder")],
    ids=["MemoryError", "ENOMEM"],
)
def test_a_job_without_memory_says_so(error: Exception) -> None:
    """Whether Python or the operating system refuses it."""
    assert reason(error).startswith("[NIR_MEMORY] there is not enough memory")


def test_memory_has_a_limit(local: DaskPool) -> None:
    assert allocated(local) == ["no memory", 1 << 20]


def test_memory_of_one_process_has_a_limit() -> None:
    """In a process of its own: this one may have kept more memory than the limit in its heap."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        assert fresh.submit(allocated, SerialPool(LIMIT)).result() == ["no memory", 1 << 20]


def test_killed_workers_lose_their_own_jobs(local: DaskPool, tmp_path: Path) -> None:
    heard = Heard()
    jobs = [
        Job("killer", ("kill", None), weight=9),
        Job("neighbour", ("sleep", 0.5), weight=8),
        Job("unlucky", ("kill once", str(tmp_path / "mark")), weight=7),
        *say(6),
    ]
    outcomes = local.run(jobs, do, retries=1, listener=heard)
    killer, neighbour, unlucky, *rest = outcomes
    assert killer.lost == "its worker ended" and killer.retries == 1
    assert unlucky.value == "second time" and unlucky.retries == 1
    assert neighbour.value == 0.5 and neighbour.retries == 0
    assert values(rest) == list(range(6)) and all(outcome.retries == 0 for outcome in rest)
    assert sorted(name for name, _ in heard.lost) == ["killer", "unlucky"]


def test_heavy_jobs_begin_first(local: DaskPool) -> None:
    heard = Heard()
    jobs = [Job(f"j{n}", ("say", n), weight=n) for n in range(4)]
    assert values(local.run(jobs, do, retries=0, listener=heard)) == [0, 1, 2, 3]
    assert heard.begun.index("j3") < heard.begun.index("j0")


def test_two_clusters_of_which_one_ends() -> None:
    """Its jobs go to the other one."""
    cluster = distributed.LocalCluster
    with cluster(n_workers=1, **IN_PROCESS) as stays, cluster(n_workers=1, **IN_PROCESS) as ends:
        addresses = [stays.scheduler_address, ends.scheduler_address]

        class Ending(Heard):
            def ended(self, outcome: Outcome) -> None:
                super().ended(outcome)
                if len(self.over) == 3:
                    threading.Thread(target=ends.close).start()

        heard = Ending()
        jobs = [Job(f"j{n}", ("sleep", 0.1)) for n in range(16)]
        with remote_pool(addresses) as pool:
            outcomes = pool.run(jobs, do, retries=1, listener=heard)
    assert values(outcomes) == [0.1] * 16
    assert {outcome.lost for outcome in outcomes} == {None}
    first = {outcome.worker for outcome in outcomes if outcome.job.name in heard.over[:3]}
    assert len(first) == 2


def test_an_address_without_a_port_leaves_nothing_broken(tmp_path: Path) -> None:
    """Dask's client for it complained with a traceback when it was collected."""
    code = """
from neuronir.cli import neuron_sim
raise SystemExit(neuron_sim.main(["sweep", "m.hlo", "--scheduler", "foo"]))
"""
    (tmp_path / "m.hlo").write_text("HloModule m")
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "[NIR_MANY002] there is no Dask scheduler at 'foo'" in done.stderr
    assert "Traceback" not in done.stderr


def test_address_without_a_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuronir.many.dask_pool._CONNECT_S", 0.2)
    with pytest.raises(NeuronError, match="NIR_MANY002.*tcp://127.0.0.1:1'"):
        with remote_pool(["tcp://127.0.0.1:1"]):
            raise AssertionError


def test_no_worker_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuronir.many.dask_pool._PATIENCE_S", 0.3)
    with distributed.LocalCluster(n_workers=0, **IN_PROCESS) as empty:
        with remote_pool([empty.scheduler_address]) as pool:
            outcomes = pool.run(say(2), do, retries=3, listener=Heard())
    assert [outcome.lost for outcome in outcomes] == ["no worker is left"] * 2


def test_job_that_cannot_be_sent(local: DaskPool) -> None:
    """It fails after its attempts; the others run."""
    heard = Heard()
    jobs = [Job("bad", ("say", threading.Lock())), *say(2)]
    bad, *good = local.run(jobs, do, retries=1, listener=heard)
    assert bad.lost is not None and "TypeError" in bad.lost and bad.retries == 1
    assert values(good) == [0, 1] and [name for name, _ in heard.lost] == ["bad"]


CLUSTER = """
from distributed import LocalCluster
with LocalCluster(n_workers=1, threads_per_worker=1, processes=False,
                  protocol="tcp", dashboard_address=None) as c:
    print(c.scheduler_address, flush=True)
    input()
"""


def test_two_clusters_of_which_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while its job goes to the other one, which works on meanwhile."""
    monkeypatch.setattr("neuronir.many.dask_pool._PATIENCE_S", 2.0)
    command = [sys.executable, "-c", CLUSTER]
    pipe = subprocess.PIPE
    with (
        distributed.LocalCluster(n_workers=1, **IN_PROCESS) as stays,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as stops,
    ):
        assert stops.stdout is not None

        class Stopping(Heard):
            def began(self, job: Job) -> None:
                super().began(job)
                if len(self.begun) == 2:  # one at each cluster
                    stops.send_signal(signal.SIGSTOP)

        heard = Stopping()
        jobs = [Job(f"j{n}", ("sleep", 1.0)) for n in range(3)]
        try:
            with remote_pool([stays.scheduler_address, stops.stdout.readline().strip()]) as pool:
                outcomes = pool.run(jobs, do, retries=0, listener=heard)
                stops.kill()
        finally:
            stops.kill()
    assert values(outcomes) == [1.0] * 3
    assert [why for _, why in heard.lost] == ["its cluster does not answer"]


def test_limit_that_the_process_has_already() -> None:
    """A job's limit does not raise it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    mine = 64 << 30
    resource.setrlimit(resource.RLIMIT_DATA, (mine, hard))
    try:
        for memory, found in ((2 * mine, mine), (mine - 1, mine - 1)):
            with limited(memory):
                assert resource.getrlimit(resource.RLIMIT_DATA)[0] == found
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
