"""Answer a compile of the Python interfaces from the cache, or compile and keep the result.

The key of a job is the digest of its imported module, its constants and its options, so equal
models have one entry. The folder and its entries are those of `neuronir.cache`.
While models are collected (`NEURON_EXTRACT_GRAPHS_ONLY=1`), a job is stored for a later compile and
answered by a program that returns zeros, as the Neuron SDK does.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import StringAttr

from neuronir.cache import FOLDER_VARIABLE, Store
from neuronir.cache_code import unknown_code
from neuronir.cache_entry import MODEL, About, Damaged, Failed, Hit, Messages, skipped
from neuronir.cache_graphs import PYTHON, collecting, extracted, store_graph
from neuronir.cache_place import find_cache
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.diagnostics.stored import from_json, to_json
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.diagnostics import (
    LEVEL_OF,
    Severity,
    emit,
    handling,
    recording,
    warning,
)
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import Buffer, output_error
from neuronir.dialects.support.printable import printable
from neuronir.driver.elsewhere import compile_jobs as compile_elsewhere
from neuronir.driver.job import Job, Packed, pack
from neuronir.driver.pass_runner import RunFailure
from neuronir.driver.placeholder import placeholder
from neuronir.neff_program import program_of_bytes
from neuronir.targets.encoding.encoding import Encoding
from neuronir.targets.neff.writer import neff_pieces
from neuronir.targets.registry import is_ours
from neuronir.version import __version__

LOGGER = logging.getLogger("Neuron")


@dataclass(frozen=True)
class CacheUse:
    """Which cache is used: `place` is a folder or URL (None: the one in the environment, or the
    user's default; empty: none). `retry` compiles models again whose compile failed before.
    """

    place: str | None = None
    retry: bool = False


NO_CACHE = CacheUse("")


@dataclass(frozen=True)
class Made:
    """A compiled job: its program, its encoding, the bytes of its NEFF if there are any, and
    whether it comes from the cache."""

    program: Program
    encoding: Encoding
    neff: bytes | None = None
    cached: bool = False


@dataclass
class _Keeper:
    """Stores one job in the cache."""

    job: Job
    packed: Packed
    store: Store
    entry: Path
    retry: bool
    heard: list[tuple[int, str]] = field(default_factory=list)

    def answer(self) -> Made | None:
        """Return the cached program, None if there is none that can be trusted.

        Raises the failure that is cached.
        """
        found = self.store.get(self.entry)
        if isinstance(found, Failed) and not self.retry:
            self._say(found.messages)
            warning(skipped(self.entry))
            raise RunFailure(from_json(found.failure, self.job.name))
        if isinstance(found, Damaged):
            name = self.entry.name
            warning(f"the cache's entry {name} is not used: {printable(found.why)}")
        if not isinstance(found, Hit):
            return None
        self._say(found.messages)
        LOGGER.info("Using a cached neff: %s", self.entry.name)
        program, encoding = program_of_bytes(found.data, self.job.name)
        return Made(program, encoding, found.data, cached=True)

    def _say(self, messages: Messages) -> None:
        """Repeat the messages of the compile."""
        for level, text in messages:
            severity: Severity = "remark" if level == LEVEL_OF["remark"] else "warning"
            place, mark, rest = printable(text).partition(f"{severity}: ")
            emit(severity, rest if mark else text, location=place.removesuffix(": ") or None)

    def collect(self) -> None:
        """Store the job for a later compile."""

        def write(part: Path) -> dict[str, Any]:
            self.packed.write(part / "files" / "job", copies=True)
            return {"model": ["files/job"], "load": [], "name": self._name()}

        try:
            folder = store_graph(self.store, self.entry, PYTHON, write)
        except OSError as error:
            raise output_error(self.entry, error) from error
        warning(extracted(folder))

    def keep(self, neff: Iterable[Buffer], messages: Messages) -> None:
        """Store a result; if that fails, the log says so."""
        try:
            with self.store.part(self.entry) as part:
                with (part / MODEL).open("wb") as file:
                    file.writelines(neff)
                self.store.put(part, self.entry, About(messages, label=self._label()))
        except OSError as error:
            LOGGER.info("the result was not kept in the cache: %s", error)

    def failed(self, failure: RunFailure, messages: Messages) -> None:
        """Store a failure, if the model causes it."""
        if failure.internal or failure.diagnostic.of_computer:
            return
        about = About(
            messages,
            failure=to_json(failure.diagnostic, self.job.name),
            label=self._label(),
        )
        try:
            with self.store.part(self.entry) as part:
                self.store.put(part, self.entry, about)
        except OSError as error:
            LOGGER.info("the failure was not kept in the cache: %s", error)

    def _name(self) -> str:
        """Return the name of the module for people, else that of the model."""
        name = self.job.module.attributes.get("hlo.module_name")
        return name.data if isinstance(name, StringAttr) else self.job.name

    def _label(self) -> dict[str, str]:
        """Return what neuron-cache shows."""
        options = self.job.options
        return {
            "model": self._name(),
            "target": self.job.target,
            "optlevel": str(options.optlevel),
            "program": PYTHON,
            "auto-cast": f"{options.auto_cast} to {options.auto_cast_type}",
        }


def compile_job(
    job: Job,
    use: CacheUse = CacheUse(),
    *,
    want_neff: bool = False,
    packed: Packed | None = None,
) -> Made:
    """Compile a job in this process, or answer it from the cache.

    `want_neff` asks for the NEFF, `packed` is what the job was read from. Raises RunFailure or
    NeuronError.
    """
    keeper = _keeper(job, use, packed)
    if keeper is not None:
        found = keeper.answer()
        if found is not None:
            return found
        if collecting():
            keeper.collect()
            job, keeper = placeholder(job), None
    heard: list[tuple[int, str]] = []
    try:
        with handling(recording(heard)):
            result = job.compile()
    except RunFailure as failure:
        if keeper is not None:
            keeper.failed(failure, heard)
        raise
    except NeuronError as error:
        if keeper is not None:
            keeper.failed(RunFailure(Diagnostic.from_error(error)), heard)
        raise
    assert result.program is not None
    neff = None
    if want_neff or keeper is not None:
        neff = b"".join(neff_pieces(result.program, __version__, result.encoding))
    if keeper is not None and neff is not None:
        keeper.keep([neff], heard)
    return Made(result.program, result.encoding, neff)


def compile_jobs(
    jobs: Sequence[Job],
    use: CacheUse = CacheUse(),
    *,
    workers: int = 2,
    timeout: float | None = None,
) -> list[bytes]:
    """Return the NEFF of each job: from the cache, or compiled in another process, `workers` at a
    time.

    Raises RunFailure for the first job that does not compile, subprocess.TimeoutExpired if one
    takes more than `timeout` seconds, and NeuronError.
    """
    neffs: dict[int, bytes] = {}
    keepers: dict[int, _Keeper | None] = {}
    for i, job in enumerate(jobs):
        keeper = _keeper(job, use)
        if keeper is not None and (found := keeper.answer()) is not None:
            assert found.neff is not None
            neffs[i] = found.neff
        elif keeper is not None and collecting():
            keeper.collect()
            neffs[i] = _neff_of(placeholder(job))
        else:
            keepers[i] = keeper
    answers = compile_elsewhere([jobs[i] for i in keepers], workers=workers, timeout=timeout)
    failures = []
    for (i, keeper), answer in zip(keepers.items(), answers, strict=True):
        if isinstance(answer, RunFailure):
            failures.append(answer)
            if keeper is not None:
                keeper.failed(answer, ())
            continue
        neffs[i] = answer.neff
        if keeper is not None:
            keeper.keep([answer.neff], answer.messages)
    if failures:
        raise failures[0]
    return [neffs[i] for i in range(len(jobs))]


def _neff_of(job: Job) -> bytes:
    made = compile_job(job, NO_CACHE, want_neff=True)
    assert made.neff is not None
    return made.neff


def _keeper(job: Job, use: CacheUse, packed: Packed | None = None) -> _Keeper | None:
    """Return the keeper of a job, or None if the cache is not used.

    Raises NIR_MANY005 for the latter while models are collected.
    """
    why = _not_kept(job, use)
    store = None if why is not None else find_cache(use.place)
    if store is not None:
        packed = pack(job) if packed is None else packed
        options = {**packed.options(), "program": PYTHON}
        entry = store.entry(packed.digests(), options)
        return _Keeper(job, packed, store, entry, use.retry)
    if collecting() and use is not NO_CACHE:
        raise NeuronError(
            "NIR_MANY005",
            f"the model '{printable(job.name)}' cannot be collected: "
            + (f"a compile with {why} does not use the cache" if why else "there is no cache"),
            help=f"name a folder with {FOLDER_VARIABLE}, or compile it without collecting",
        )
    return None


def _not_kept(job: Job, use: CacheUse) -> str | None:
    """Return why the cache cannot hold the result of a job, or None if it can."""
    if use.place == "":
        return "--no-cache"
    if job.options.dump_phases_to is not None:
        return "dumps of its phases (compiler_workdir)"
    if not is_ours(job.target):
        return "a target of another package"
    return unknown_code(job.options.user_passes)
