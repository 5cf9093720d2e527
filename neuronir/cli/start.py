"""The console scripts: each program from its first moment, its imports included."""

import sys
from importlib import import_module

from neuronir.driver.collector import few_collections
from neuronir.threads import one_thread

_INTERRUPTED = 130


def neuron_check() -> int:
    """Start neuron-check."""
    return _start("neuron_check")


def neuron_opt() -> int:
    """Start neuron-opt."""
    return _start("neuron_opt")


def neuron_sim() -> int:
    """Start neuron-sim."""
    one_thread()
    return _start("neuron_sim")


def neuronx_cc() -> int:
    """Start neuronx-cc."""
    with few_collections():
        return _start("neuronx_cc")


def _start(module: str) -> int:
    """Run the main function of a program; Ctrl-C during its imports is an answer, not an error."""
    try:
        main = import_module(f"neuronir.cli.{module}").main
    except KeyboardInterrupt:
        print(f"{module.replace('_', '-')}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    return int(main())
