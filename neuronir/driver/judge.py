"""Compare a compiled program with the interpreter on the same rounded program."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.hlo.interpreter import entry_signature, interpret
from neuronir.dialects.hlo.interpreter_noise import reordered
from neuronir.dialects.support.compare import Report
from neuronir.dialects.support.compare_noise import compare_with_noise
from neuronir.dialects.support.npz import Array, unpack
from neuronir.driver.specification import Specification
from neuronir.driver.weights import parameter_names


def judge_compile(
    specification: Specification, args: Sequence[Array], outputs: Sequence[Array]
) -> Report:
    """Compare simulated `outputs` with what a compile had to compute.

    `args` are all entry arguments of the model, bound or not. The outputs are compared with the
    interpreter's on the module with all casts, and for each step before, its second module with its
    first one, as `judge_module` does. The report of an output is that of the first step that fails,
    or else the comparison of the simulated values.
    """
    found = judge_module(specification.rounded, args, outputs)
    for before, after in reversed(specification.steps):
        report = judge_module(before, args, results_of(after, args))
        if not report.ok:
            found = _with_failures(found, report, "rewritten wrongly before hlo-auto-cast")
    return found


def judge_module(module: ModuleOp, args: Sequence[Array], outputs: Sequence[Array]) -> Report:
    """Compare `outputs` with those of the interpreter on an hlo module.

    They may differ like two orders of fp32 sums, including effects on later roundings. Integers of
    64 bits may be given as such, or in the 32 bits (or words) in which a module has them.
    """
    plain = results_of(module, args)
    plain = _like(plain, outputs)
    reference = {f"out{i}": x for i, x in enumerate(plain)}
    with np.errstate(all="ignore"):
        report = compare_with_noise(outputs, reference, [])
        # Results of another number or shape cannot be compared.
        if report.ok or [x.shape for x in plain] != [x.shape for x in outputs]:
            return report
        runs = [_like(run, outputs) for run in reordered(module, _typed(module, args))]
        return compare_with_noise(outputs, reference, runs, plain)


def results_of(module: ModuleOp, args: Sequence[Array]) -> list[Array]:
    """Return the flat results of an hlo module in phase `parsed` or `hlo`, by the interpreter."""
    with np.errstate(all="ignore"):
        return [np.asarray(x) for x in interpret(module, _typed(module, args))]


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


def _with_failures(found: Report, step: Report, what: str) -> Report:
    """Return `found` with the outputs that fail in a step in place of its own."""
    bad = [
        replace(one, reason=f"{one.reason}; {what}" if one.reason else what)
        for one in step.outputs
        if not one.ok
    ]
    if len(step.outputs) != len(found.outputs):
        return Report(tuple(bad))
    return Report(tuple({o.index: o for o in (*found.outputs, *bad)}.values()))


def _typed(module: ModuleOp, args: Sequence[Array]) -> list[Array]:
    """Return arguments with the integers that `module` takes; wrong ones are left as they are."""
    signature = entry_signature(module)
    if len(signature) != len(args):
        return list(args)
    return [_integers(a, *type_) for a, type_ in zip(args, signature, strict=True)]


def _like(arrays: Sequence[Array], others: Sequence[Array]) -> list[Array]:
    """Return `arrays` with the integers of `others`, where there are as many."""
    if len(arrays) != len(others):
        return list(arrays)
    return [_integers(a, o.shape, o.dtype) for a, o in zip(arrays, others, strict=True)]


def _integers(array: Array, shape: Sequence[int], dtype: "np.dtype[np.generic]") -> Array:
    """Return 64-bit integers as 32-bit ones or as words u32[..., 2], and these as 64-bit ones.

    hlo-narrow-int64 and hlo-emulate-uint64 change the types of arguments and results so. Whatever
    does not fit is left as it is.
    """
    if array.dtype == dtype or {array.dtype.kind, dtype.kind} - {"i", "u"}:
        return array
    if array.shape == tuple(shape):
        converted = array.astype(dtype)
        return converted if np.array_equal(converted.astype(array.dtype), array) else array
    if array.dtype == np.uint64 and tuple(shape) == (*array.shape, 2):
        return np.ascontiguousarray(array).reshape(*array.shape, 1).view(np.uint32)
    if dtype == np.uint64 and array.shape == (*shape, 2) and array.dtype == np.uint32:
        return np.ascontiguousarray(array).view(np.uint64).reshape(tuple(shape))
    return array
