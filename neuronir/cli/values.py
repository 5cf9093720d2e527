"""The types of option values: each raises argparse's error for text that is not one."""

import argparse
import math
from collections.abc import Callable, Sequence


def text(value: str) -> str:
    """Return text that is not empty; an empty value is usually an unset variable of a shell."""
    if not value:
        raise argparse.ArgumentTypeError("the value is empty")
    return value


def count(least: int) -> Callable[[str], int]:
    """Return the type of whole numbers from `least`."""

    def parse(value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"'{value}' is not a whole number from {least}")
        return number

    return parse


def quantity(value: str) -> float:
    """Return a finite number that is not negative."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"'{value}' is not a number from 0")
    return number


def one_of(*names: str) -> Callable[[str], str]:
    """Return the type of these lower-case names, which are accepted in any case."""

    def parse(value: str) -> str:
        return _known(value.lower(), value, names)

    return parse


def some_of(alone: Sequence[str], names: Sequence[str]) -> Callable[[str], str]:
    """Return the type of one of the names `alone`, or of others separated by commas."""

    def parse(value: str) -> str:
        if value not in alone:
            for part in value.split(","):
                _known(part, part, (*alone, *names) if part == value else names)
        return value

    return parse


def _known(name: str, value: str, names: Sequence[str]) -> str:
    if name not in names:
        choices = ", ".join(names)
        raise argparse.ArgumentTypeError(f"invalid value '{value}' (choose from {choices})")
    return name
