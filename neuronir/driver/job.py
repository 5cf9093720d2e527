"""A compile as data: an imported module with its options, and how it is written to a folder.

The folder has `job.json` (the options), `module.mlir`, `constants.bin`, and a copy of each file
with passes of the user, if that is requested.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.hlo.attributes import HloResourceAttr
from neuronir.dialects.hlo.resources import lookup, receive
from neuronir.dialects.support.diagnostics import LEVEL_OF
from neuronir.dialects.support.dtypes import element_type, from_hlo_name, hlo_name, np_dtype
from neuronir.dialects.support.npz import Array
from neuronir.dialects.support.walking import walk
from neuronir.driver.compiler import compile_module
from neuronir.driver.dumps import ir_text
from neuronir.driver.module_input import Chunk, parse
from neuronir.driver.options import CompileOptions
from neuronir.driver.result import CompiledResult
from neuronir.driver.user_passes import user_passes
from neuronir.loaded_file import load_file
from neuronir.registry import Registry

RESULT = ("auto_cast", "auto_cast_type", "relayout", "optlevel", "narrow_integers", "tiling")
"""The fields of CompileOptions that a job may set and that affect its result, without
`user_passes`."""
SENT = (*RESULT, "dump_phases_to")
"""The fields of CompileOptions that a job may set, without `user_passes`."""

_ABOUT, _MODULE, _CONSTANTS, _LOAD = "job.json", "module.mlir", "constants.bin", "load"


@dataclass(frozen=True)
class Job:
    """A module in phase `parsed`, with its origin (`source.stamp`), to compile.

    `name` is that of its model in messages. Messages of `level` (30: warnings) or above are
    printed.
    """

    module: ModuleOp
    name: str
    target: str
    options: CompileOptions
    level: int = LEVEL_OF["warning"]

    def compile(self) -> CompiledResult:
        """Compile in this process. RunFailure or NeuronError."""
        return compile_module(self.module, self.target, self.options, name=self.name)


@dataclass(frozen=True)
class Packed:
    """A job as text and arrays: `constants` has the arrays of the resources in `text` by name,
    `about` the options and names, and `load` the paths and digests of the user's pass files.
    """

    text: str
    constants: Mapping[str, Array]
    about: Mapping[str, Any]
    load: Mapping[str, str]

    def digests(self) -> dict[str, str]:
        """Return the sha256 of the module and of the constants."""
        constants = hashlib.sha256()
        for array in self.constants.values():
            constants.update(_bytes(array))
        text = hashlib.sha256(self.text.encode(errors="surrogatepass"))
        return {"module": text.hexdigest(), "constants": constants.hexdigest()}

    def options(self) -> dict[str, str]:
        """Return what else affects the result, as text by name."""
        sent: Mapping[str, Any] = self.about["options"]
        found = {name: str(sent[name]) for name in RESULT}
        found |= {"target": str(self.about["target"]), "pass_after": str(self.about["pass_after"])}
        return found | {"load": " ".join(self.load.values())}

    def write(self, folder: Path, *, copies: bool = False) -> None:
        """Write the job to a new folder; `copies` also copies the files with the user's passes."""
        folder.mkdir(parents=True)
        places: dict[str, list[Any]] = {}
        with (folder / _CONSTANTS).open("wb") as file:
            for key, array in self.constants.items():
                kind = hlo_name(element_type(array.dtype))
                places[key] = [kind, list(array.shape), file.tell()]
                file.write(_bytes(array))
        (folder / _MODULE).write_text(self.text, errors="surrogatepass")
        load = [os.path.abspath(path) for path in self.load]
        for number, path in enumerate(load if copies else ()):
            load[number] = f"{_LOAD}/{number}/{Path(path).name}"
            (folder / load[number]).parent.mkdir(parents=True)
            shutil.copyfile(path, folder / load[number])
        about = {**self.about, "load": load, "constants": places}
        (folder / _ABOUT).write_text(json.dumps(about))


def pack(job: Job) -> Packed:
    """Return a job as text and arrays; raises ValueError for options that a job cannot set."""
    given = job.options
    unset = CompileOptions()
    changed = {k for k, v in vars(given).items() if v is not getattr(unset, k)}
    changed = {k for k in changed if getattr(given, k) != getattr(unset, k)}
    if wrong := sorted(changed - {*SENT, "user_passes"}):
        raise ValueError(f"options that a job cannot set: {', '.join(wrong)}")
    constants: dict[str, Array] = {}
    for op in walk(job.module):
        value = op.properties.get("value")
        if isinstance(value, HloResourceAttr) and value.key.data not in constants:
            constants[value.key.data] = np.asarray(lookup(value))
    text = ir_text(job.module, Registry.discover().context(), job.name, constants=False)
    users = given.user_passes
    about = {
        "name": job.name,
        "target": job.target,
        "options": {name: getattr(given, name) for name in SENT},
        "pass_after": {} if users is None else dict(users.after),
        "level": job.level,
    }
    files = () if users is None else users.registry.files
    return Packed(text, constants, about, {file.path: file.digest for file in files})


def read_packed(folder: Path) -> Packed:
    """Return the job in a folder as text and arrays; raises OSError, ValueError or KeyError for a
    damaged one, and NeuronError for files with passes that cannot be loaded.
    """
    about = json.loads((folder / _ABOUT).read_text())
    constants = _read_constants(folder / _CONSTANTS, about.pop("constants"))
    text = (folder / _MODULE).read_text(errors="surrogatepass")
    files = [load_file(os.fspath(folder / path)) for path in about.pop("load")]
    return Packed(text, constants, about, {file.path: file.digest for file in files})


def unpack(packed: Packed) -> Job:
    """Return a job, whose constants this process holds.

    Raises RunFailure or NeuronError for a damaged module, ValueError for damaged constants.
    """
    about = packed.about
    held = [receive(key, array) for key, array in packed.constants.items()]
    module = parse(Chunk(packed.text, about["name"], "mlir"), Registry.discover().context())
    del held  # the module owns them
    users = None
    if packed.load or about["pass_after"]:
        after = [f"{phase}={passes}" for phase, passes in about["pass_after"].items()]
        users = user_passes(after, list(packed.load))
    options = CompileOptions(**about["options"], user_passes=users)
    return Job(module, about["name"], about["target"], options, about["level"])


def _bytes(array: Array) -> memoryview:
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return flat.data


def _read_constants(path: Path, described: Mapping[str, Sequence[Any]]) -> dict[str, Array]:
    """Return the constants of a job by name."""
    data = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
    found: dict[str, Array] = {}
    for key, (kind, shape, start) in described.items():
        dtype = np_dtype(from_hlo_name(kind))
        count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        found[key] = np.asarray(data[start : start + count]).view(dtype).reshape(shape)
    return found
