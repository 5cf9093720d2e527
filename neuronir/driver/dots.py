"""Print a dot from time to time while a compile runs, so that a notebook shows progress."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

EVERY_S = 20.0
"""Seconds between two dots, as published for compiles from a framework."""


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


@contextmanager
def dots(every_s: float = EVERY_S, write: Callable[[str], object] = _print) -> Iterator[None]:
    """Write a dot every `every_s` seconds inside this block, and end the line if there is one.

    A block that ends earlier writes nothing.
    """
    done = Event()

    def run() -> None:
        shown = False
        while not done.wait(every_s):
            write(".")
            shown = True
        if shown:
            write("\n")

    thread = Thread(target=run, name="dots", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
