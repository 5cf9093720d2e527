"""Share exit statuses, command-line errors and error handling between the programs."""

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.exhausted import EXHAUSTED, exhausted

OK, USER_ERROR, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 70, 130
"""Exit statuses: success, an error in the input, an invalid command line, a compiler bug, Ctrl-C.
"""


class UsageError(Exception):
    """Raised for an invalid command line."""


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises instead of exiting."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Return the arguments; raises UsageError, which names unknown words and similar
        options.
        """
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            hints = self._alike(unknown, getattr(found, "command", None))
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hints}")
        return found

    def _alike(self, unknown: Sequence[str], command: object) -> str:
        """Return options with similar names."""
        from difflib import get_close_matches

        known = list(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and command in action.choices:
                known += action.choices[command]._option_string_actions
        near = [
            found[0]
            for word in unknown
            if word.startswith("-")
            and (found := get_close_matches(word.split("=")[0].replace("_", "-"), known, 1))
        ]
        return f" (did you mean {' '.join(near)}?)" if near else ""


def guarded(
    program: str,
    body: Callable[[list[str]], int],
    argv: Sequence[str] | None,
    *,
    debug_options: Sequence[str] = ("debug",),
    on_error: Callable[[NeuronError], int] | None = None,
    on_fault: Callable[[Exception, list[str]], None] | None = None,
    interrupted: str = "interrupted",
) -> int:
    """Run the body of a program on its arguments; always returns an exit status.

    `on_error` shows an error in the input and returns the status. `debug_options` request
    tracebacks. `on_fault` reports a compiler bug, given the arguments, instead of one line.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    debug = any(word.lstrip("-") in debug_options for word in words)
    try:
        return body(words)
    except UsageError as error:
        print(f"{program}: error: {error} (see {program} --help)", file=sys.stderr)
        return USAGE
    except (NeuronError, *EXHAUSTED) as error:
        if debug:
            traceback.print_exc()
        found = error if isinstance(error, NeuronError) else exhausted(error)
        if on_error is not None:
            return on_error(found)
        print(found.render(), file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        print(f"{program}: {interrupted}", file=sys.stderr)
        return INTERRUPTED
    except SystemExit as finished:  # argparse's --help
        return int(finished.code or 0)
    # Last resort: a user never sees a traceback without asking for it.
    except Exception as error:
        if debug:
            traceback.print_exc()
        if on_fault is not None:
            on_fault(error, words)
            return INTERNAL
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        print(f"{program}: internal error: {text} (--debug shows where)", file=sys.stderr)
        return INTERNAL
