"""neuron-packager: print the header of a binary, and unpack its files."""

import json
import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from neuronir.cli.program import OK, Parser, UsageError, guarded
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import output_error, write_stdout
from neuronir.version import __version__

HEADER = "neff_header.json"
"""The file with the fields of the header, next to the members of the archive."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuron-packager; returns the exit status."""
    return guarded("neuron-packager", _main, argv, parser=build_parser)


def build_parser() -> Parser:
    """Create the parser of the command line."""
    parser = Parser(
        prog="neuron-packager",
        description="Print the header of a NEFF-style binary, and unpack its files.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"neuron-packager {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="<command>", parser_class=Parser)
    info = commands.add_parser("info", help="print the contents of a binary", allow_abbrev=False)
    unpack = commands.add_parser(
        "unpack", help="write the files of a binary into a folder", allow_abbrev=False
    )
    unpack.add_argument(
        "--output",
        "-o",
        metavar="DIR",
        help="new folder for the files (default: the name of FILE without its suffix)",
    )
    for command in (info, unpack):
        command.add_argument("neff", metavar="FILE", help="binary (.neff)")
        command.add_argument("--debug", action="store_true", help="show tracebacks")
    return parser


def _main(words: list[str]) -> int:
    args = build_parser().parse_args(words)
    if args.command is None:
        raise UsageError("a command is missing: info or unpack")
    if args.command == "unpack":
        return _unpack(args)
    from neuronir.cli.neuron_sim_info import info_lines, pipeline_lines
    from neuronir.targets.neff.pipeline import PipelineNeff, load_any

    found = load_any(args.neff)
    lines = pipeline_lines(found) if isinstance(found, PipelineNeff) else info_lines(found)
    write_stdout("".join(f"{line}\n" for line in lines))
    return OK


def _unpack(args: Namespace) -> int:
    """Write all members and the header into a new folder, completely or not at all."""
    from neuronir.targets.neff.pipeline import read_members

    neff, members = read_members(args.neff)
    header = neff.header
    target = Path(args.output or Path(args.neff).stem)
    if os.path.lexists(target):
        raise NeuronError(
            "NIR_OUTPUT",
            f"cannot write '{target}': it exists already",
            help="name another folder with --output, or remove it",
        )
    fields = {
        "name": header.name,
        "build_version": header.build_version,
        "neff_version": list(header.version),
        "data_size": header.data_size,
        "hash": header.hash.hex(),
        "uuid": str(header.uuid),
        "feature_bits": hex(header.feature_bits),
    }
    try:
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            part.chmod(0o755)
            # The reader refuses names that lead out of the folder.
            for name, data in members.items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                (part / name).write_bytes(data)
            (part / HEADER).write_text(json.dumps(fields, indent=1) + "\n")
            part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise output_error(target, error) from error
    total = sum(len(data) for data in members.values())
    write_stdout(f"{target}: {len(members)} files, {total} bytes, and {HEADER}\n")
    return OK


if __name__ == "__main__":
    sys.exit(main())
