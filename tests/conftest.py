"""What every test shares: hypothesis draws the same examples on every run."""

import os

from hypothesis import settings

from neuronir.cache import FOLDER_VARIABLE
from neuronir.threads import one_thread

one_thread()

# Deterministic and without a deadline: a loaded machine must not fail a test.
settings.register_profile("neuronir", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("neuronir")

# A test must compile, not read what an earlier one left in the user's cache.
os.environ[FOLDER_VARIABLE] = ""
