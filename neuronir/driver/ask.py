"""Test whether programs compile, in a separate process: one line of JSON for each file.

python -m neuronir.driver.ask TARGET AUTO_CAST FILE.mlir ...
"""

import json
import sys
from collections.abc import Sequence


def main(words: Sequence[str]) -> int:
    """Compile each file and print `[file, None or the reason]`."""
    from neuronir.dialects.support.errors import NeuronError
    from neuronir.driver import CompileOptions, compile_file
    from neuronir.driver.pass_runner import RunFailure

    target, auto_cast, *files = words
    options = CompileOptions(auto_cast=auto_cast, narrow_integers=True, tiling="never")
    for file in files:
        why = None
        try:
            compile_file(file, target, options)
        except NeuronError as error:
            why = f"[{error.code}] {error.message}"
        except RunFailure as failure:
            why = failure.diagnostic.text
        print(json.dumps([file, why]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
