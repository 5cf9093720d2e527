"""Write the generated pages: `python -m tools.reference`, or with --check compare them.

With --check, the exit status is 1 if a page is out of date.
"""

import argparse
import sys
from collections.abc import Sequence

from tools.reference.pages import DOCS, pages


def main(argv: Sequence[str] | None = None) -> int:
    """Write or compare every generated page."""
    parser = argparse.ArgumentParser(prog="python -m tools.reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    check = parser.parse_args(argv).check
    stale = []
    for name, text in pages().items():
        path = DOCS / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
    for name in stale:
        print(f"docs/{name}: {'out of date, run `make docs`' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
