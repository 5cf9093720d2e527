"""Split one npz of a model's arguments into weights and data, for `neuronx-cc --weights`.

    python examples/split_args.py MODEL.hlo ARGS.npz --data arg39 arg40 \
        --weights-to weights.npz --data-to data.npz

`--data` names the parameters that stay inputs, by `argN` or by HLO parameter name; everything else
becomes a weight. `--weights` does it the other way round. Names keep their argN, so that both files
fit the compiled program.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import load_npz, npz_bytes, unpack
from neuronir.dialects.support.output import atomic_write, input_error
from neuronir.frontends.hlo_text import import_hlo_text


def parameter_names(path: str) -> list[str]:
    """The HLO names of the entry's parameters, in order."""
    from neuronir.driver.weights import parameter_names as names_of

    try:
        text = Path(path).read_text()
    except OSError as error:
        raise input_error(path, error) from error
    return names_of(import_hlo_text(text, path))


def numbers(chosen: Sequence[str], names: Sequence[str]) -> set[int]:
    """The parameter numbers that `chosen` (argN, a name, or a range argN-argM) means."""
    found: set[int] = set()
    for word in chosen:
        if word in names:
            found.add(names.index(word))
            continue
        match = re.fullmatch(r"arg(\d+)(?:-arg(\d+))?", word)
        last = int(match[2] or match[1]) if match else len(names)
        if match is None or last >= len(names):
            raise NeuronError("NIR_DRV003", f"there is no entry parameter '{word}'")
        found.update(range(int(match[1]), last + 1))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Write both files."""
    parser = argparse.ArgumentParser(description="Split arguments into weights and data.")
    parser.add_argument("model", help="HLO text")
    parser.add_argument("arguments", help="npz with arg0, arg1 ...")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--data", nargs="+", metavar="PARAM", help="these stay inputs")
    which.add_argument("--weights", nargs="+", metavar="PARAM", help="these become constants")
    parser.add_argument("--weights-to", required=True, metavar="FILE.npz")
    parser.add_argument("--data-to", required=True, metavar="FILE.npz")
    args = parser.parse_args(argv)
    try:
        names = parameter_names(args.model)
        chosen = numbers(args.data or args.weights, names)
        data = chosen if args.data else set(range(len(names))) - chosen
        entries = load_npz(args.arguments)
        arrays = {i: unpack(entries, f"arg{i}") for i in range(len(names)) if f"arg{i}" in entries}
        for path, wanted in ((args.weights_to, False), (args.data_to, True)):
            part = {f"arg{i}": a for i, a in arrays.items() if (i in data) is wanted}
            atomic_write(path, npz_bytes(part))
            print(f"{path}: {len(part)} arrays", file=sys.stderr)
    except NeuronError as error:
        print(error.render(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
