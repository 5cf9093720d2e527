"""The models that are measured, with their arguments and references."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neuronir.dialects.support.npz import Array
from tests.corpus import CORPUS, program_args, program_reference

FOLDERS = ("core", "odd", "bench")


@dataclass(frozen=True)
class Model:
    """A program of the corpus: its HLO text and, beside it, how its arguments are drawn."""

    path: Path

    @property
    def name(self) -> str:
        """The file's name, without ending."""
        return self.path.stem

    def args(self) -> list[Array]:
        """All entry arguments, in order."""
        return program_args(self.path)

    def weights(self, args: Sequence[Array]) -> dict[str, Array]:
        """The arguments that are weights (named [0] by JAX: the first argument of the function).

        They become read-only, as those that neuronx-cc reads from a file are.
        """
        rules = json.loads(self.path.with_suffix(".json").read_text())["args"]
        chosen = [i for i, rule in enumerate(rules) if rule[0].startswith("[0]")]
        for i in chosen:
            args[i].flags.writeable = False
        return {f"arg{i}": args[i] for i in chosen}

    def reference(self) -> dict[str, Array] | None:
        """XLA's outputs, where they are stored."""
        if not self.path.with_suffix(".ref.npz").exists():
            return None
        return program_reference(self.path)


def models(folders: Sequence[str] = FOLDERS, names: Sequence[str] = ()) -> list[Model]:
    """The models of the corpus, all or those named; ValueError for a name that there is not."""
    found = [
        Model(path)
        for folder in folders
        for path in sorted((CORPUS / "hlo" / folder).glob("*.hlo"))
    ]
    unknown = sorted(set(names) - {m.name for m in found})
    if unknown:
        raise ValueError(f"there is no model {', '.join(unknown)} in {', '.join(folders)}")
    return [m for m in found if not names or m.name in names]
