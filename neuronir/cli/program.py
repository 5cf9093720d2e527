"""Share exit statuses, command-line errors and error handling between the programs."""

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from neuronir.cli.values import text
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.exhausted import exhausted, is_exhausted

OK, USER_ERROR, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 70, 130
"""Exit statuses: success, an error in the input, an invalid command line, a compiler bug, Ctrl-C.
"""


class UsageError(Exception):
    """Raised for an invalid command line."""


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises instead of exiting.

    A value without a type must not be empty; `type=str` accepts empty text. `relative` creates the
    parser of a similar program, whose options are named in errors. `words` are further words that
    errors suggest.
    """

    relative: Callable[[], "Parser"] | None = None
    words: Sequence[str] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.register("type", None, text)

    def add_subparsers(self, **options: Any) -> Any:
        """Add the commands; their parsers check the words after the command."""
        made = super().add_subparsers(**options)
        made.type = str
        return made

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

    def command_names(self) -> list[str]:
        """Return the names of the commands, if the program has any."""
        return list(self._commands())

    def help_of(self, words: Sequence[str]) -> str:
        """Return the command line, without --help, that prints help about these arguments."""
        commands = self._commands()
        return next((commands[word].prog for word in words if word in commands), self.prog)

    def _commands(self) -> "dict[str, Parser]":
        choices = (a.choices for a in self._actions if isinstance(a, argparse._SubParsersAction))
        return dict(next(choices, {}))

    def _options(self, command: object) -> list[str]:
        """Return all options of the program and of a command."""
        found = [*self._option_string_actions, *self.words]
        commands = self._commands()
        return found + (commands[command]._options(None) if command in commands else [])

    def _alike(self, unknown: Sequence[str], command: object) -> str:
        """Return a hint for unknown options: similar ones, or the program that has them."""
        from difflib import get_close_matches

        relative = self.relative() if self.relative is not None else None
        foreign = relative._options(command) if relative is not None else []
        known = {option.strip("-"): option for option in self._options(command)}
        elsewhere, near = [], []
        for option in (word.split("=")[0] for word in unknown if word.startswith("-")):
            if option in foreign and relative is not None:
                elsewhere.append(f"{option} is an option of {relative.prog}")
            elif found := get_close_matches(option.strip("-").replace("_", "-"), known, 1):
                near.append(known[found[0]])
        hints = elsewhere + ([f"did you mean {' '.join(near)}?"] if near else [])
        return f" ({'; '.join(hints)})" if hints else ""


def guarded(
    program: str,
    body: Callable[[list[str]], int],
    argv: Sequence[str] | None,
    *,
    parser: Callable[[], Parser] | None = None,
    debug_options: Sequence[str] = ("debug",),
    on_error: Callable[[NeuronError], int] | None = None,
    on_fault: Callable[[Exception, list[str]], None] | None = None,
    interrupted: str = "interrupted",
) -> int:
    """Run the body of a program on its arguments; always returns an exit status.

    `parser` creates the parser of the program: an invalid command line names the help of its
    command. `on_error` shows an error in the input and returns the status. `debug_options` request
    tracebacks. `on_fault` reports a compiler bug, given the arguments, instead of one line.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    debug = any(word.lstrip("-") in debug_options for word in words)
    try:
        return body(words)
    except UsageError as error:
        helping = program if parser is None else parser().help_of(words)
        print(f"{program}: error: {error} (see {helping} --help)", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print(f"{program}: {interrupted}", file=sys.stderr)
        return INTERRUPTED
    except SystemExit as finished:  # argparse's --help
        return int(finished.code or 0)
    # The last resort, too: a user never sees a traceback without asking for it.
    except Exception as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, NeuronError) or is_exhausted(error):
            found = error if isinstance(error, NeuronError) else exhausted(error)
            if on_error is not None:
                return on_error(found)
            print(found.render(), file=sys.stderr)
            return USER_ERROR
        if on_fault is not None:
            on_fault(error, words)
            return INTERNAL
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        print(f"{program}: internal error: {text} (--debug shows where)", file=sys.stderr)
        return INTERNAL
