"""What every test shares: hypothesis draws the same examples on every run."""

from hypothesis import settings

# Deterministic and without a deadline: a loaded machine must not fail a test.
settings.register_profile("neuronir", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("neuronir")
