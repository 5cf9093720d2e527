"""Compare a compiled program with the interpreter on the same rounded program."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.hlo.interpreter_noise import reordered
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.compare import Report
from neuronir.dialects.support.compare_noise import compare_with_noise
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array, unpack
from neuronir.driver.compiler import compile_file
from neuronir.driver.options import CompileOptions
from neuronir.driver.precision import EXACT
from neuronir.driver.weights import parameter_names


def judge_compile(module: ModuleOp, args: Sequence[Array], outputs: Sequence[Array]) -> Report:
    """Compare simulated `outputs` with the interpreter's outputs of `module`, in phase hlo.

    The module contains the roundings of `hlo-auto-cast`. Both outputs differ like two orders of
    fp32 sums, including effects on later roundings. `args` are all entry arguments, bound or not.
    """
    with np.errstate(all="ignore"):
        plain = [np.asarray(x) for x in interpret(module, args)]
        reference = {f"out{i}": x for i, x in enumerate(plain)}
        report = compare_with_noise(outputs, reference, [])
        # Results of another number or shape cannot be compared.
        if report.ok or [x.shape for x in plain] != [x.shape for x in outputs]:
            return report
        return compare_with_noise(outputs, reference, reordered(module, args), plain)


def lowered_as(program: Program, path: str, weights: Mapping[str, Array]) -> ModuleOp:
    """Return the model in a file in phase hlo, with the options of `program`.

    Raises NIR_DRV010 if the program was made from another model, or with other weights.
    """
    mode, _, cast_type = program.metadata.get("precision", "none").partition(":")
    options = CompileOptions(
        auto_cast=mode,
        auto_cast_type=cast_type or "bf16",
        relayout=program.metadata.get("relayout", EXACT),
        weights=weights,
        compile_to="hlo",
    )
    module = compile_file(path, program.machine, options).module
    for key, attribute, what in (
        ("input_sha256", "neuronir.input", f"another model than {path}"),
        ("weights_sample_sha256", "neuronir.weights", "other weights"),
    ):
        found = module.attributes.get(attribute)
        text = found.data if isinstance(found, StringAttr) else ""
        if program.metadata.get(key, "") != text:
            raise NeuronError(
                "NIR_DRV010",
                f"the binary was compiled from {what}",
                help="pass the model and the weights that it was compiled from",
            )
    return module


def arguments_of(module: ModuleOp, entries: Mapping[str, Array]) -> list[Array]:
    """Return all entry arguments of `module`, by `argN` or by HLO name; raises KeyError for a
    missing one.
    """
    arrays = []
    for index, name in enumerate(parameter_names(module)):
        found = next((n for n in (f"arg{index}", name) if n in entries), None)
        if found is None:
            raise KeyError(f"arg{index} ('{name}')")
        arrays.append(unpack(entries, found))
    return arrays
