"""Plant faults in a copy of the checkout and run tests on it."""

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.planted.faults import ROOT, Fault

_FAILED = re.compile(
    r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$|^\s*(?:FAIL|UNRESOLVED|TIMEOUT): NeuronIR :: (\S+)", re.M
)
_PYTEST = ("-q", "-x", "--tb=no", "--no-header", "-rfE", "-p", "no:cacheprovider")
_NO_TESTS = 5
"""The status of pytest where nothing was collected."""
_WALL = 20
"""A run is ended after this many times its CPU time: something waits for ever."""


@dataclass(frozen=True)
class Verdict:
    """What became of a fault: caught, missed, timeout, stale or error.

    `test` is the one that failed, or says why the fault could not be tried; `seconds` are of CPU
    time.
    """

    fault: str
    status: str
    test: str
    seconds: float


def copy_checkout(folder: Path) -> Path:
    """A copy of the working tree: what git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    copy = folder / "checkout"
    for name in listed.stdout.split("\0"):
        if name and os.path.lexists(ROOT / name):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    return copy


def try_faults(
    faults: Sequence[Fault], copy: Path, seconds: float, suite: bool
) -> Iterator[Verdict]:
    """Plant one fault after the other in `copy`; `seconds` of CPU time for the tests of each."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", copy], check=False)
    for fault in faults:
        problem = fault.problem(copy)
        if problem:
            yield Verdict(fault.name, "stale", problem, 0.0)
            continue
        source = copy / fault.file
        text = source.read_text()
        source.write_text(fault.planted(text))
        _forget(source)
        try:
            yield _tried(fault, copy, seconds, suite)
        finally:
            source.write_text(text)


def _tried(fault: Fault, copy: Path, seconds: float, suite: bool) -> Verdict:
    used = 0.0
    for path in (*fault.tests, *(("tests", "lit") if suite else ())):
        limit = seconds - used if path in fault.tests else float("inf")
        if limit < 1:
            return Verdict(fault.name, "timeout", path, used)
        status, failed, spent = _run(copy, path, limit)
        used += spent
        if failed:
            return Verdict(fault.name, "caught", failed, used)
        if status == _NO_TESTS:
            return Verdict(fault.name, "error", f"{path} has no tests", used)
        if status:
            return Verdict(fault.name, "timeout", path, used)
    return Verdict(fault.name, "missed", "", used)


def _run(copy: Path, path: str, seconds: float) -> tuple[int, str, float]:
    """(status, the test that failed, CPU seconds) of the tests of a path."""
    bin_ = Path(sys.executable).parent
    command = (
        [str(bin_ / "lit"), path, "-q", "-j1", "--max-failures=1"]
        if path.startswith("lit")
        else [sys.executable, "-m", "pytest", *_PYTEST, path]
    )
    finite = seconds < float("inf")
    if finite:
        command = ["sh", "-c", f'ulimit -t {int(seconds) + 1}; exec "$@"', "sh", *command]
    before = _cpu()
    # No byte code is written: its time stamps could not tell a fault from the source.
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NEURONIR_HYPOTHESIS": "first failure",
    }
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            timeout=_WALL * seconds if finite else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return -1, "", _cpu() - before
    found = _FAILED.search(done.stdout) if done.returncode > 0 else None
    return done.returncode, (found[1] or found[2]) if found else "", _cpu() - before


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def _forget(source: Path) -> None:
    """Remove the byte code of a source."""
    for compiled in (source.parent / "__pycache__").glob(f"{source.stem}.*.pyc"):
        compiled.unlink()
