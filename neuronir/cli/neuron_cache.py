"""neuron-cache: list, show, verify and clear the entries of the compile cache."""

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from neuronir.cache import Entry, Store, trim
from neuronir.cache_entry import About, Damaged
from neuronir.cache_place import find_cache, size_of
from neuronir.cli.program import OK, Parser, UsageError, guarded
from neuronir.cli.values import quantity
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import write_stdout
from neuronir.dialects.support.printable import printable
from neuronir.version import __version__

_DAY_S = 86_400


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuron-cache; the exit status is 1 if `verify` finds a damaged entry."""
    return guarded("neuron-cache", _main, argv, parser=build_parser)


def build_parser() -> Parser:
    """Create the parser of the command line."""
    parser = Parser(
        prog="neuron-cache",
        description="List, show, verify and clear the entries of the compile cache.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"neuron-cache {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="<command>", parser_class=Parser)

    def command(name: str, text: str) -> Parser:
        made: Parser = commands.add_parser(name, help=text, allow_abbrev=False)
        made.add_argument(
            "--cache-dir",
            "--cache_dir",
            metavar="DIR",
            help="folder or URL of the cache (default: that of neuronx-cc)",
        )
        made.add_argument("--debug", action="store_true", help="show tracebacks")
        return made

    listing = command("list", "list the entries, the most recently used first")
    listing.add_argument("--json", action="store_true", help="print the list as JSON")
    show = command("show", "print an entry: what was compiled, and its messages")
    show.add_argument("entry", metavar="ENTRY", help="name of an entry, as list prints it")
    show.add_argument("--json", action="store_true", help="print the entry as JSON")
    verify = command("verify", "compare every entry with its digests")
    verify.add_argument("--remove", action="store_true", help="remove damaged entries")
    clear = command("clear", "remove entries: all of them, or those that are selected")
    clear.add_argument("entry", nargs="*", metavar="ENTRY", help="remove these entries only")
    clear.add_argument("--failed", action="store_true", help="remove failed compiles only")
    clear.add_argument(
        "--older-than",
        type=quantity,
        metavar="DAYS",
        help="only remove entries that were not used for DAYS days",
    )
    clear.add_argument(
        "--limit",
        metavar="SIZE",
        help="remove the least recently used entries until the rest is within SIZE (such as 500M)",
    )
    clear.add_argument("--dry-run", action="store_true", help="print the entries, remove nothing")
    return parser


def _main(words: list[str]) -> int:
    args = build_parser().parse_args(words)
    if args.command is None:
        raise UsageError("a command is missing: list, show, verify or clear")
    store = find_cache(args.cache_dir)
    if store is None:
        raise NeuronError(
            "NIR_CACHE003",
            "the cache is off: NEURON_COMPILE_CACHE_URL is empty",
            help="name the cache with --cache-dir",
        )
    commands = {"list": _list, "show": _show, "verify": _verify, "clear": _clear}
    with _cache_errors():
        return commands[args.command](args, store)


@dataclass(frozen=True)
class _Described:
    """An entry with its description."""

    entry: Entry
    about: About | Damaged

    @property
    def state(self) -> str:
        """neff, failed or damaged."""
        if isinstance(self.about, Damaged):
            return "damaged"
        return "neff" if self.about.failure is None else "failed"

    def json(self) -> dict[str, Any]:
        """Return the entry as `--json` prints it."""
        found: dict[str, Any] = {
            "name": self.entry.path.name,
            "version": self.entry.path.parent.name,
            "state": self.state,
            "bytes": self.entry.size,
            "used": _iso(self.entry.used),
        }
        if isinstance(self.about, Damaged):
            return found | {"why": self.about.why}
        return found | {"compiled": dict(self.about.label)}


def _described(store: Store, entries: Sequence[Entry]) -> list[_Described]:
    found = ((entry, store.about(entry.path)) for entry in entries)
    return [_Described(entry, about) for entry, about in found if about is not None]


def _list(args: Namespace, store: Store) -> int:
    """Print one line for each entry."""
    found = _described(store, store.entries()[::-1])
    if args.json:
        write_stdout(json.dumps([one.json() for one in found], indent=1) + "\n")
        return OK
    lines = []
    for one in found:
        label = {} if isinstance(one.about, Damaged) else one.about.label
        model, target = label.get("model", "?"), label.get("target", "?")
        lines.append(
            f"{_short(one.entry.path.name):24}  {one.state:7}  {_size(one.entry.size):>9}  "
            f"{_iso(one.entry.used)}  {target:5}  {printable(model)}"
        )
    total = _size(sum(one.entry.size for one in found))
    many = "1 entry" if len(found) == 1 else f"{len(found)} entries"
    write_stdout("".join(f"{line}\n" for line in [*lines, f"{many}, {total}"]))
    return OK


def _show(args: Namespace, store: Store) -> int:
    """Print everything that is known about an entry."""
    entry = _chosen(store.entries(), args.entry)
    about = store.about(entry.path)
    if about is None:
        raise NeuronError(
            "NIR_CACHE004",
            f"the entry '{entry.path.name}' is incomplete, or has been removed",
            help="neuron-cache list prints the entries",
        )
    one = _Described(entry, about)
    found = one.json()
    if isinstance(about, About):
        found["messages"] = [text for _, text in about.messages]
        found["failure"] = None if about.failure is None else about.failure.get("text")
    if args.json:
        write_stdout(json.dumps(found, indent=1) + "\n")
        return OK
    lines = [f"{key}: {value}" for key, value in found.items() if key in _HEAD]
    lines.append(f"path: {entry.path}")
    lines += [f"  {key}: {value}" for key, value in found.get("compiled", {}).items()]
    lines += [f"message: {text}" for text in found.get("messages", ())]
    if found.get("failure"):
        lines.append(f"failure: {found['failure']}")
    write_stdout("".join(f"{printable(line, keep=chr(10))}\n" for line in lines))
    return OK


_HEAD = ("name", "version", "state", "bytes", "used", "why")


def _verify(args: Namespace, store: Store) -> int:
    """Read every entry completely; raises NIR_CACHE005 if a damaged one is not removed."""
    checked, damaged = 0, []
    for entry in store.entries():
        found = store.look(entry.path)
        checked += found is not None  # neither removed meanwhile nor still being written
        if isinstance(found, Damaged):
            damaged.append(entry)
            print(f"{entry.path.name}: damaged: {printable(found.why)}", file=sys.stderr)
    done = f", {len(_removed(store, damaged))} removed" if args.remove else ""
    write_stdout(f"{checked} checked, {len(damaged)} damaged{done}\n")
    if damaged and not args.remove:
        raise NeuronError(
            "NIR_CACHE005",
            f"{len(damaged)} of {checked} entries are damaged",
            help="remove them with neuron-cache verify --remove; compiles never use them",
        )
    return OK


def _clear(args: Namespace, store: Store) -> int:
    """Remove the entries that every given option selects."""
    limit = None if args.limit is None else size_of(args.limit, "--limit")
    if limit is not None and (args.entry or args.failed or args.older_than is not None):
        raise UsageError("--limit selects entries itself: it cannot be combined")
    entries = store.entries()
    if args.entry:
        entries = list(dict.fromkeys(_chosen(entries, name) for name in args.entry))
    if args.older_than is not None:
        before = time.time() - args.older_than * _DAY_S
        entries = [entry for entry in entries if entry.used < before]
    if args.failed:
        entries = [one.entry for one in _described(store, entries) if one.state == "failed"]
    if limit is not None:
        entries = trim(store, limit, dry=args.dry_run)
    elif not args.dry_run:
        entries = _removed(store, entries)
    verb = "would be removed" if args.dry_run else "removed"
    if args.dry_run:
        write_stdout("".join(f"{entry.path.name}\n" for entry in entries))
    write_stdout(f"{len(entries)} {verb}, {_size(sum(entry.size for entry in entries))}\n")
    return OK


def _removed(store: Store, entries: Sequence[Entry]) -> list[Entry]:
    """Remove entries; return those that no other process had already removed."""
    removed = []
    for entry in entries:
        with suppress(FileNotFoundError):
            store.remove(entry.path)
            removed.append(entry)
    return removed


_DIGITS = 8


def _short(name: str) -> str:
    """Return `MODULE_<model>+<options>` with the first digits of both digests."""
    model, _, options = name.removeprefix("MODULE_").partition("+")
    return f"MODULE_{model[:_DIGITS]}+{options[:_DIGITS]}" if options else name


def _begins(name: str, short: str) -> bool:
    """Return whether `short` is a prefix of the name, or of both of its digests joined by `+`."""
    model, _, options = name.partition("+")
    first, _, second = short.partition("+")
    return model.startswith(first) and options.startswith(second)


def _chosen(entries: Sequence[Entry], name: str) -> Entry:
    """Return the only entry whose name begins with `name`; raises NIR_CACHE004 otherwise."""
    found = [entry for entry in entries if _begins(entry.path.name, name)]
    exact = [entry for entry in found if entry.path.name == name]
    found = exact or found
    if len(found) != 1:
        what = "no entry" if not found else f"{len(found)} entries"
        begin = "begins" if not found else "begin"
        raise NeuronError(
            "NIR_CACHE004",
            f"{what} of the cache {begin} with '{name}'",
            help="neuron-cache list prints the names",
        )
    return found[0]


@contextmanager
def _cache_errors() -> Iterator[None]:
    """Convert an OSError of the cache to NIR_CACHE006."""
    try:
        yield
    except OSError as error:
        raise NeuronError(
            "NIR_CACHE006", f"the cache cannot be read or changed: {error}"
        ) from error


def _size(size: int) -> str:
    """Return a number of bytes with a unit."""
    number, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024 or unit == "TiB":
            break
        number /= 1024
    return f"{size} B" if unit == "B" else f"{number:.1f} {unit}"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    sys.exit(main())
