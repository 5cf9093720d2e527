"""What every test shares: hypothesis draws the same examples on every run."""

import os
import signal

from hypothesis import settings

from neuronir.cache import FOLDER_VARIABLE
from neuronir.threads import one_thread

one_thread()

# Deterministic and without a deadline: a loaded machine must not fail a test.
settings.register_profile("neuronir", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("neuronir")

# A test must compile, not read what an earlier one left in the user's cache.
os.environ[FOLDER_VARIABLE] = ""

# A shell may start background jobs with Ctrl-C ignored, which programs that tests start inherit.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
