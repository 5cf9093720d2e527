"""Examples of errors: files, commands, and what the commands print.

`python -m tools.reference.error_examples [CODE ...]` runs the examples of these codes, or of all,
and writes the output of each command into its example.

`<!-- needs: PACKAGE -->` names a package that the example needs and that is no dependency of the
tests. `<!-- without: PACKAGE -->` hides a package from the commands.
"""

import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path

from neuronir.cache import FOLDER_VARIABLE
from neuronir.version import __version__

EXAMPLES = Path(__file__).parent / "errors"
"""One Markdown file for each code: `write` blocks hold files, a `console` block the commands."""
_FILE = re.compile(r"^<!-- write: (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r"^<!-- needs: (\S+) -->$", re.MULTILINE)
_WITHOUT = re.compile(r"^<!-- without: (\S+) -->$", re.MULTILINE)
_DIGEST = re.compile(r"[0-9a-f]{32}(?:\+[0-9a-f]{32})?")
_IN_NEW_PROCESS = """
import sys
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(",")))  # imports of None fail
from tools.reference.error_examples import run_program
run_program(sys.argv[1:])
"""


def needs(text: str) -> list[str]:
    """The packages that an example needs and that are not among the dependencies."""
    return _NEEDS.findall(text)


def rerun(text: str, folder: Path) -> str:
    """Run the commands of an example in an empty folder; return it with their present output."""
    for name, content in _FILE.findall(text):
        (folder / name).write_text(content)
    hidden = _WITHOUT.findall(text)
    return _CONSOLE.sub(lambda match: f"```console\n{_session(match[1], folder, hidden)}```", text)


def _session(text: str, folder: Path, hidden: Sequence[str]) -> str:
    commands = re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE)
    return "".join(f"$ {command}\n{_run(command, folder, hidden)}" for command in commands)


def _run(command: str, folder: Path, hidden: Sequence[str]) -> str:
    """The output of one command without the packages `hidden`.

    It runs in this process, as starting one takes a second, unless packages are hidden, which
    this process may have imported.
    """
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
            if hidden:
                stream.write(_elsewhere(words, hidden))
            else:
                run_program(words)
    finally:
        os.environ.clear()
        os.environ.update(environment)
    return _same_everywhere(stream.getvalue(), folder)


def _same_everywhere(output: str, folder: Path) -> str:
    """An output without what differs from one machine, version or run to the next."""
    output = output.replace(str(folder.resolve()), "FOLDER").replace(__version__, "VERSION")
    return _DIGEST.sub("...", output)


def _elsewhere(words: Sequence[str], hidden: Sequence[str]) -> str:
    """The output of a command in a process that cannot import the packages `hidden`."""
    environment = os.environ | {"PYTHONPATH": str(EXAMPLES.parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", _IN_NEW_PROCESS, ",".join(hidden), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        check=False,
    )
    return done.stdout


def run_program(words: list[str]) -> None:
    """Run `python FILE` or one of the programs in this process."""
    try:
        _main(words)
    except SystemExit:
        pass
    except Exception as error:  # as Python prints it, without the traceback
        print(f"{type(error).__module__}.{type(error).__qualname__}: {error}")


def _main(words: list[str]) -> None:
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
