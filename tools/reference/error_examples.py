"""Examples of errors: files, commands, and what the commands print.

`python -m tools.reference.error_examples [CODE ...]` runs the examples of these codes, or of all,
and writes the output of each command into its example.
"""

import os
import re
import runpy
import shlex
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path

from neuronir.cache import FOLDER_VARIABLE

EXAMPLES = Path(__file__).parent / "errors"
"""One Markdown file for each code: `write` blocks hold files, a `console` block the commands."""
_FILE = re.compile(r"^<!-- write: (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r"^<!-- needs: (\S+) -->$", re.MULTILINE)


def needs(text: str) -> list[str]:
    """The packages that an example needs and that are not among the dependencies."""
    return _NEEDS.findall(text)


def rerun(text: str, folder: Path) -> str:
    """Run the commands of an example in an empty folder; return it with their present output."""
    for name, content in _FILE.findall(text):
        (folder / name).write_text(content)
    return _CONSOLE.sub(lambda match: f"```console\n{_session(match[1], folder)}```", text)


def _session(text: str, folder: Path) -> str:
    commands = re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE)
    return "".join(f"$ {command}\n{_run(command, folder)}" for command in commands)


def _run(command: str, folder: Path) -> str:
    """The output of one command, which runs in this process: starting one takes a second."""
    words = shlex.split(command)
    environment = dict(os.environ)
    os.environ.pop(FOLDER_VARIABLE, None)
    os.environ["XDG_CACHE_HOME"] = str(folder / ".cache")
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        os.environ[name] = value
    stream = StringIO()
    try:
        with chdir(folder), redirect_stdout(stream), redirect_stderr(stream):
            _program(words)
    except SystemExit:
        pass
    except Exception as error:  # as Python prints it, without the traceback
        stream.write(f"{type(error).__module__}.{type(error).__qualname__}: {error}\n")
    finally:
        os.environ.clear()
        os.environ.update(environment)
    return stream.getvalue()


def _program(words: list[str]) -> None:
    if words[0] == "python":
        runpy.run_path(words[1], run_name="__main__")
        return
    module = import_module(f"neuronir.cli.{words[0].replace('-', '_')}")
    main: Callable[[list[str]], int] = module.main
    main(words[1:])


def main(codes: list[str]) -> int:
    """Write the present outputs into the examples."""
    for path in sorted(EXAMPLES.glob("*.md")):
        if codes and path.stem not in codes:
            continue
        with tempfile.TemporaryDirectory() as folder:
            text = path.read_text()
            new = rerun(text, Path(folder))
            if f"[{path.stem}]" not in new:
                print(f"{path.stem}: the code is not in the output\n{new}")
            path.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
