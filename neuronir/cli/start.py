"""Define the console scripts, which handle interrupts from the first import to the exit.

Little is imported here, so that the handlers are installed at once.
"""

import os
import signal
import sys

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import FrameType

_INTERRUPTED = 128 + signal.SIGINT
_ENDING = ("SIGTERM", "SIGHUP")


def neuron_cache() -> int:
    """Start neuron-cache."""
    return _start("neuron_cache")


def neuron_cc() -> int:
    """Start neuron-cc."""
    return _start("neuron_cc")


def neuron_check() -> int:
    """Start neuron-check."""
    return _start("neuron_check")


def neuron_explore() -> int:
    """Start neuron-explore."""
    return _start("neuron_explore")


def neuron_opt() -> int:
    """Start neuron-opt."""
    return _start("neuron_opt")


def neuron_packager() -> int:
    """Start neuron-packager."""
    return _start("neuron_packager")


def neuron_parallel_compile() -> int:
    """Start neuron_parallel_compile."""
    return _start("neuron_parallel_compile", "neuron_parallel_compile")


def neuron_sim() -> int:
    """Start neuron-sim."""
    return _start("neuron_sim")


def neuronx_cc() -> int:
    """Start neuronx-cc."""
    return _start("neuronx_cc")


def _start(module: str, program: str | None = None) -> int:
    """Run the main function of a program.

    Ctrl-C is not reported as an error. During the imports there is nothing to clean up, so it ends
    the process at once. A request to terminate (kill, a terminal that closes) unwinds the program
    like Ctrl-C, so that no partially written file remains.
    """
    program = program or module.replace("_", "-")
    heeded = signal.getsignal(signal.SIGINT) == signal.default_int_handler  # not with nohup, or &
    handled: list[int] = []
    try:
        if heeded:
            signal.signal(signal.SIGINT, _leaving(program))
        with _settings(module):
            main = _main_of(module)
            for number in (getattr(signal, name, None) for name in _ENDING):
                if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                    signal.signal(number, _unwinding(program))
                    handled.append(number)
            if heeded:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            return main()
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except MemoryError:  # while modules are imported
        print(f"{program}: error: [NIR_MEMORY] there is not enough memory", file=sys.stderr)
        print("help: give the process more memory", file=sys.stderr)
        return 1
    finally:  # all is done, and Python only ends
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        if heeded:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _settings(module: str) -> "AbstractContextManager[None]":
    """Apply the settings that make a program fast; they must precede its imports."""
    if module in ("neuron_cc", "neuronx_cc"):
        from neuronir.dialects.support.collector import few_collections

        return few_collections()
    if module == "neuron_sim":
        from neuronir.threads import one_thread

        one_thread()
    from contextlib import nullcontext

    return nullcontext()


def _main_of(module: str) -> "Callable[[], int]":
    import gc
    from importlib import import_module

    collects = gc.isenabled()
    gc.disable()  # modules stay: looking for garbage would be an eighth of the start
    try:
        main: Callable[[], int] = import_module(f"neuronir.cli.{module}").main
    finally:
        if collects:
            gc.enable()
    return main


def _leaving(program: str) -> "Callable[[int, FrameType | None], None]":
    """Return a signal handler that ends the process at once, because an import could swallow an
    exception.
    """

    def leave(number: int, frame: "FrameType | None") -> None:
        os.write(2, f"{program}: interrupted\n".encode())
        os._exit(128 + number)

    return leave


def _unwinding(program: str) -> "Callable[[int, FrameType | None], None]":
    """Return a signal handler that raises an exception, so that all cleanup code runs."""

    def unwind(number: int, frame: "FrameType | None") -> None:
        signal.signal(number, signal.SIG_IGN)
        os.write(2, f"{program}: terminated\n".encode())
        raise SystemExit(128 + number)

    return unwind
