"""The cases of the onnx package: what each is, whether we can take it, and how it comes out.

`python -m tests.frontends.onnx_cases --write` writes onnx_cases.json: the cases that are excluded,
each with its reason, and those that a device refuses (minutes; `--write-excluded`: only the first).
"""

import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import AttributeProto, TensorProto, numpy_helper
from xdsl.dialects.builtin import IntegerType

from neuronir import backend
from neuronir.dialects.support.dtypes import hlo_name
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.onnx.graphs import subgraphs
from neuronir.frontends.onnx.node import type_of
from neuronir.frontends.onnx.unsupported import NOT_SUPPORTED, operators_used
from neuronir.passes.hlo.legality import legality

Array = NDArray[Any]
RANDOM = frozenset(("Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike"))
"""Operators that have cases, which hold the numbers that one implementation drew."""
RECORD = Path(__file__).with_name("onnx_cases.json")


@dataclass(frozen=True)
class Case:
    """A model with inputs and the outputs that it must give, within tolerances."""

    name: str
    model: onnx.ModelProto
    data: list[tuple[list[Any], list[Any]]] = field(repr=False)
    rtol: float = 1e-3
    atol: float = 1e-7


@cache
def node_cases() -> list[Case]:
    """The backend node tests: one operator each, plain and expanded into simpler ones."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's overflows, on purpose
        found: list[Any] = list(collect_testcases(None))
    return [Case(c.name, c.model, c.data_sets, c.rtol, c.atol) for c in found]


def folder_cases(kind: str) -> Iterator[Case]:
    """The cases that the package has as files: `simple`, `pytorch-operator` ..."""
    root = Path(onnx.__file__).parent / "backend" / "test" / "data" / kind
    for folder in sorted(root.iterdir()):
        model = folder / "model.onnx"
        if model.is_file():
            data = [
                (_stored(d, "input"), _stored(d, "output"))
                for d in sorted(folder.glob("test_data_set*"))
            ]
            yield Case(folder.name, onnx.load(str(model)), data)


def _stored(folder: Path, kind: str) -> list[Any]:
    count = len(list(folder.glob(f"{kind}_*.pb")))
    found: list[Any] = []
    for i in range(count):
        proto = TensorProto()
        proto.ParseFromString((folder / f"{kind}_{i}.pb").read_bytes())
        try:
            found.append(numpy_helper.to_array(proto))
        except (ValueError, TypeError, KeyError):
            found.append(None)  # not a tensor: such cases are excluded
    return found


def excluded(model: onnx.ModelProto) -> str | None:
    """Why a case is not for the machine, None if it is: its operators, types, or randomness."""
    uses = [use for use in operators_used(model) if use.reason not in (None, NOT_SUPPORTED)]
    reasons = {f"{use.name}: {use.reason}" for use in uses}
    if reasons:
        return "; ".join(sorted(reasons))
    for value in (*model.graph.input, *model.graph.output):
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            return f"{value.name} is of {(kind or 'no type').removesuffix('_type')} type"
    for number in sorted(_types(model)):
        name = str(TensorProto.DataType.Name(number)).lower()
        if not _held(number):
            return f"the machine has no {name}"
    if _drops(model):
        return "Dropout in training mode: its results are random"
    drawn = sorted({use.name for use in operators_used(model)} & RANDOM)
    return f"{drawn[0]}: its results are random" if drawn else None


def _held(number: int) -> bool:
    """Whether the machine holds an element type, 64-bit integers in 32 bits."""
    try:
        type_ = type_of(number)
    except NeuronError:
        return False
    wide = isinstance(type_, IntegerType) and type_.width.data == 64
    return wide or hlo_name(type_) in legality("trn1").element_types


def _types(model: onnx.ModelProto) -> set[int]:
    found = {v.type.tensor_type.elem_type for v in (*model.graph.input, *model.graph.output)}
    for node in _nodes(model.graph):
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                found.add(attribute.t.data_type)
            if node.op_type in ("Cast", "BitCast") and attribute.name == "to":
                found.add(attribute.i)
    return found - {0}


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from _nodes(inner)


def _drops(model: onnx.ModelProto) -> bool:
    """A dropout that is told to train with a ratio of its own."""
    return any(n.op_type == "Dropout" and len(n.input) == 3 for n in model.graph.node) and (
        "zero_ratio" not in model.graph.name
    )


def mismatch(case: Case, found: Iterable[Array], wanted: Iterable[Any]) -> str | None:
    """How results differ from those that a case wants, None if they agree.

    Floats agree within the case's tolerances, or within one step of their own type times the
    largest result (docs/numerics.md); narrow ones within two, as both round what comes between.
    """
    found, wanted = list(found), [backend._array(w) for w in wanted]
    if len(found) != len(wanted):
        return f"{len(found)} results, {len(wanted)} wanted"
    for i, (got, right) in enumerate(zip(found, wanted, strict=True)):
        if got.shape != right.shape or got.dtype != right.dtype:
            return f"result {i}: {got.dtype}{list(got.shape)}, {right.dtype}{list(right.shape)}"
        if right.dtype.kind not in "fV":
            if not np.array_equal(got, right):
                return f"result {i} differs"
            continue
        narrow = right.dtype.itemsize < 4
        step = float(ml_dtypes.finfo(right.dtype).eps) * (2 if narrow else 1)
        a, b = got.astype(np.float64), right.astype(np.float64)
        finite = np.abs(b[np.isfinite(b)])
        atol = case.atol + step * float(finite.max(initial=0))
        if not np.allclose(a, b, rtol=case.rtol, atol=atol, equal_nan=True):
            return f"result {i}: off by {np.nanmax(np.abs(a - b)):.3g}"
    return None


def outcome(case: Case, device: str) -> str:
    """`right`, `refused: CODE`, or what is wrong."""
    try:
        prepared = backend.prepare(case.model, device)
        for inputs, wanted in case.data:
            wrong = mismatch(case, prepared.run(inputs), wanted)
            if wrong is not None:
                return f"wrong: {wrong}"
    except NeuronError as error:
        return f"refused: {error.code}"
    return "right"


def record() -> dict[str, dict[str, str]]:
    """What is checked in."""
    loaded: dict[str, dict[str, str]] = json.loads(RECORD.read_text())
    return loaded


def all_excluded(cases: Iterable[Case]) -> dict[str, str]:
    """Name to reason."""
    return {case.name: why for case in cases if (why := excluded(case.model)) is not None}


def _write(run: bool) -> None:
    """Write the record; without `run` the outcomes that it has are kept."""
    cases = node_cases()
    made = {} if run else record()
    made["excluded"] = all_excluded(cases)
    kept = [case for case in cases if case.name not in made["excluded"]]
    for device in ("CPU", "TRN1"):
        if not run:
            left = {case.name for case in kept}
            made[device] = {name: text for name, text in made[device].items() if name in left}
            continue
        bad: dict[str, str] = {}
        for case in kept:
            found = outcome(case, device)
            if found != "right":
                bad[case.name] = found
                print(device, case.name, found, file=sys.stderr, flush=True)
        made[device] = bad
        print(f"{device}: {len(kept) - len(bad)} of {len(kept)}", file=sys.stderr)
    RECORD.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] not in (["--write"], ["--write-excluded"]):
        sys.exit("usage: python -m tests.frontends.onnx_cases --write|--write-excluded")
    _write(sys.argv[1] == "--write")
