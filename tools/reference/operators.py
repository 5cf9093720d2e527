"""docs/operators-*.md: the operators of each frontend, from the registries of the frontends."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec

from neuronir.cli.cc_operators import REPLACED, STRUCTURE
from neuronir.cli.neuron_opt_lists import summary
from neuronir.dialects.support.dtypes import HLO_NAMES
from neuronir.frontends.hlo_text.opcodes import OPCODES
from neuronir.frontends.stablehlo.operators.registry import (
    DYNAMIC,
    UNSUPPORTED,
)
from neuronir.frontends.stablehlo.operators.registry import OPERATORS as STABLEHLO
from neuronir.passes.hlo.decompose import decompositions
from neuronir.passes.hlo.legality import CHECKS, legality
from tools.reference.rules import text_of

_REMOVED = ("bitcast", "copy")
"""Ops that canonicalisation always replaces."""
_TARGETS = ("trn1", "inf1")
_NOTE = (
    "This page is generated from the frontend's registry. `list-operators` prints the same names"
)


def operator_pages() -> dict[str, str]:
    """The pages by file name; that of PyTorch only if torch is installed."""
    pages = {
        "operators-xla.md": _xla_page(),
        "operators-onnx.md": _onnx_page(),
        "operators-tensorflow.md": _tensorflow_page(),
    }
    if find_spec("torch") is not None:
        pages["operators-pytorch.md"] = _pytorch_page()
    return pages


def hlo_status(name: str, target: str) -> str:
    """How an op such as `dot` reaches a target: `native`, `decomposed`, `expanded` or `refused`."""
    if name in (*STRUCTURE, *_REMOVED, *REPLACED):
        return "expanded"
    if name in legality(target).opcodes:
        return "native"
    return "decomposed" if name in decompositions() else "refused"


def _xla_page() -> str:
    lines = [
        "# HLO and StableHLO operators",
        "",
        f"{_NOTE}",
        "(`--framework XLA`), in the spelling of the Neuron documentation.",
        "",
        "## Operators",
        "",
        "- *native*: the lowering has a rule for the operator.",
        "- *decomposed*: `hlo-decompose` rewrites the operator as native operators.",
        "- *expanded*: the operator is inlined, unrolled or folded. On trn1, a `while` with a",
        "  known trip count may also stay a loop. Calls of XLA's `TopK` and collectives whose",
        "  groups have one device each are replaced; other calls and collectives are refused.",
        "- *refused*: the operator is read, verified and printed, but not compiled (NCC_EVRF001).",
        "",
        "The last column lists forms that `hlo-verify-supported` refuses, with their error codes.",
        "Earlier passes rewrite many of these forms, so that they are compiled after all.",
        "",
        "| HLO | trn1 | inf1 | refused forms |",
        "|---|---|---|---|",
    ]
    for opcode, spec in sorted(OPCODES.items()):
        name = spec.op.name.removeprefix("hlo.")
        states = " | ".join(hlo_status(name, target) for target in _TARGETS)
        lines.append(f"| `{opcode}` | {states} | {_forms(CHECKS.get(name))} |")
    lines += ["", "## Element types", "", "| type | trn1 | inf1 |", "|---|---|---|"]
    types = {target: legality(target).element_types & set(HLO_NAMES) for target in _TARGETS}
    for name in sorted(set().union(*types.values())):
        marks = ("yes" if name in types[target] else "no" for target in _TARGETS)
        lines.append(f"| `{name}` | {' | '.join(marks)} |")
    lines += [
        "",
        "`s64` is computed in 32 bits, within [bounds that are checked](onnx.md#64-bit-integers).",
        "`u64` is computed exactly, in pairs of `u32`, with the ops that",
        "[hlo-emulate-uint64](passes.md#hlo-emulate-uint64) lists.",
        "All other types are refused: `f64` and others with NCC_ESPP004, complex types with",
        "NCC_EVRF004, `f8e4m3fn` with NCC_EVRF051, and other FP8 types with NCC_ESPP047.",
        "",
        "## StableHLO",
        "",
        "These operators are read and become the HLO operators above:",
        "",
        _listed(STABLEHLO),
        "",
        "Operators with dynamic shapes are refused (NCC_EMOD025):",
        "",
        _listed(DYNAMIC),
        "",
        "So are these (NCC_EUOC002):",
        "",
        _listed(UNSUPPORTED),
    ]
    return "\n".join(lines) + "\n"


def _forms(check: Callable[..., object] | None) -> str:
    """The refusals in the source of a check: `Problem(code, text)`, also of its callees."""
    if check is None:
        return ""
    found = []
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(check)))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "Problem":
                code, text = (_constant(argument) for argument in node.args)
                found.append(f"[{code}](errors/{code}.md): {text}")
            elif callee := check.__globals__.get(node.func.id):
                if inspect.isfunction(callee) and callee.__module__ == check.__module__:
                    found.append(_forms(callee))
    return "; ".join(filter(None, found))


def _constant(node: ast.expr) -> str:
    return text_of(node).replace("|", "\\|")


def _onnx_page() -> str:
    import neuronir.frontends.onnx  # noqa: F401
    from neuronir.frontends.onnx.refused import DATA_DEPENDENT
    from neuronir.frontends.onnx.registry import OPERATORS, REFUSED

    lines = _head("ONNX", "ONNX")
    lines += ["| operator | domain | from opset | result |", "|---|---|---|---|"]
    for (domain, name), versions in sorted(OPERATORS.items()):
        first, function = versions[0].since, versions[-1].function
        lines.append(f"| `{name}` | {domain or 'ai.onnx'} | {first} | {_summary(function)} |")
    lines += [
        "",
        "Operators that ONNX itself defines as functions of these are expanded. Element types are",
        "those of the [HLO operators](operators-xla.md#element-types), so models with",
        "`double` inputs are refused. These operators are compiled only if the shapes of their",
        f"results are known at compile time: {_listed(DATA_DEPENDENT)}.",
        "",
    ]
    refused = {
        f"{domain}.{name}" if domain else name: text for (domain, name), text in REFUSED.items()
    }
    return "\n".join(lines + _refused(refused)) + "\n"


def _tensorflow_page() -> str:
    import neuronir.frontends.tensorflow  # noqa: F401
    from neuronir.frontends.tensorflow.registry import OPERATORS, REFUSED

    lines = _head("TensorFlow", "TENSORFLOW")
    lines += ["| operator | result |", "|---|---|"]
    lines += [f"| `{name}` | {_summary(op.build)} |" for name, op in sorted(OPERATORS.items())]
    lines += [
        "",
        "Element types are those of the [HLO operators](operators-xla.md#element-types).",
        "",
    ]
    return "\n".join(lines + _refused(REFUSED)) + "\n"


def _pytorch_page() -> str:
    import neuronir.frontends.torch.model  # noqa: F401
    from neuronir.frontends.torch.registry import KEPT, OPERATORS, REFUSED

    lines = _head("PyTorch", "PYTORCH")
    lines += [
        "A name without an overload stands for all overloads. All other ATen operators are first",
        "decomposed by PyTorch into operators of this table. *Whole* operators are not decomposed,",
        "although PyTorch could.",
        "",
        "| operator | whole | result |",
        "|---|---|---|",
    ]
    for name, function in sorted(OPERATORS.items()):
        shown = name if name.startswith("prims.") else f"aten.{name}"
        lines.append(f"| `{shown}` | {'yes' if name in KEPT else ''} | {_summary(function)} |")
    lines += [
        "",
        "Element types are those of the [HLO operators](operators-xla.md#element-types).",
        "",
    ]
    return "\n".join(lines + _refused(REFUSED)) + "\n"


def _head(framework: str, option: str) -> list[str]:
    return [
        f"# {framework} operators",
        "",
        f"{_NOTE}",
        f"(`--framework {option}`). `--report unsupported` lists the operators of a model that are",
        "not supported.",
        "",
        "## Supported",
        "",
    ]


def _refused(refused: Mapping[str, str]) -> list[str]:
    """A table of the reasons with their operators."""
    names: dict[str, list[str]] = {}
    for name, reason in sorted(refused.items()):
        names.setdefault(reason, []).append(name)
    return [
        "## Refused",
        "",
        "Every operator that is not in the table above is refused (NCC_EUOC002). For the following",
        "operators, the error message also names the reason:",
        "",
        "| reason | operators |",
        "|---|---|",
        *(f"| {reason} | {_listed(found)} |" for reason, found in names.items()),
    ]


def _summary(function: Callable[..., object]) -> str:
    return summary(function).replace("|", "\\|")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
