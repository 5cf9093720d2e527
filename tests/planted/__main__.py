"""Whether the tests see the planted faults: a line for each; status 1 if too many are missed."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.planted import __doc__ as description
from tests.planted.faults import chosen, read_faults
from tests.planted.run import copy_checkout, try_faults

LEAST = 0.95
"""The part of the faults that the tests have to see."""


def main(arguments: list[str] | None = None) -> int:
    """Try the chosen faults; the status of the program."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.planted",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="faults whose names begin so (default: all)")
    parser.add_argument("--list", action="store_true", help="list the faults and end")
    parser.add_argument("--suite", action="store_true", help="then run the whole fast suite")
    parser.add_argument(
        "--seconds",
        type=float,
        default=90.0,
        help="CPU time for the tests of a fault (%(default)s)",
    )
    options = parser.parse_args(arguments)
    try:
        faults = chosen(read_faults(), options.names)
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        for fault in faults:
            print(f"{fault.name:32} {fault.file}: {fault.what}")
        return 0
    caught = 0
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        copy = copy_checkout(Path(folder))
        for verdict in try_faults(faults, copy, options.seconds, options.suite):
            caught += verdict.status == "caught"
            line = f"{verdict.status:8} {verdict.fault:32} {verdict.seconds:5.0f} s  {verdict.test}"
            print(line.rstrip(), flush=True)
    print(f"{caught} of {len(faults)} caught")
    return 0 if caught >= LEAST * len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
