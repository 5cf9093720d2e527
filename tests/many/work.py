"""What the workers of the tests do."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np


def do(payload: tuple[str, Any]) -> object:
    """Carry out a payload: what to do, and with what."""
    what, given = payload
    if what == "say":
        return given
    if what == "pid":
        return os.getpid()
    if what == "fail":
        raise KeyError(given)
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "kill once":
        path = Path(given)
        if not path.exists():
            path.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "second time"
    if what == "allocate":
        try:
            return int(np.ones(given, np.uint8).sum())
        except MemoryError:
            return "no memory"
    assert what == "sleep"
    time.sleep(given)
    return given
