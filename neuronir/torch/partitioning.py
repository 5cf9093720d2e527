"""Partition models with unsupported operators: parts of them run on the host."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.torch.parts import PartImporter, is_operator, tensors_of
from neuronir.torch.arguments import parse_arguments
from neuronir.torch.compiling import (
    bytes_tensor,
    compiled_import,
    exported,
    spec_of,
)
from neuronir.torch.config import PartitionerConfig
from neuronir.torch.cores import next_core
from neuronir.torch.holder import Neuron, script
from neuronir.torch.interface import Interface
from neuronir.torch.structure import Leaf, cast_leaves, leaves, result_text, type_text
from neuronir.torch.support import Failure, kind_of, support

LOGGER = logging.getLogger("Neuron")


@dataclass
class Part:
    """Nodes that run together, on the core or on the host, with their inputs and outputs."""

    on_core: bool
    nodes: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Return the number of operators."""
        return sum(map(is_operator, self.nodes))


def partitioned(
    func: Any, examples: Sequence[Any], config: PartitionerConfig, given: Mapping[str, Any]
) -> Any:
    """Trace a model in parts; raises ValueError if it does not fit the configuration."""
    options = {"compiler_args": given["compiler_args"], **dict(config.trace_kwargs or {})}
    workdir = options.get("compiler_workdir", given["compiler_workdir"])
    arguments = parse_arguments(options["compiler_args"])
    program = exported(func, examples)
    _check_program(program, given)
    asked = dict(config.analyze_parameters or {})
    found = support(
        program,
        arguments,
        workers=asked.get("max_workers", 4),
        workdir=asked.get("compiler_workdir"),
        unsupported=frozenset(config.ops_to_partition or ()),
    )
    _decide(found, config, frozenset(asked.get("additional_ignored_ops", ())))
    parts = parts_of(program, found)
    _check_parts(parts, config)
    made = {
        i: neuron_part(program, part, arguments, part_folder(workdir, i))
        for i, part in enumerate(parts)
        if part.on_core
    }
    return Assembly(program, examples, parts, made).module()


def part_folder(workdir: str | None, index: int) -> str | None:
    """Return the folder of a part in that of a model."""
    return None if workdir is None else str(Path(workdir) / f"part{index}")


def neuron_part(
    program: Any, part: Part, arguments: Any, folder: str | None, timeout: float | None = None
) -> Neuron:
    """Compile a part. NeuronError; subprocess.TimeoutExpired after `timeout` seconds."""
    imported = PartImporter(program, "main").part(part.nodes, part.inputs, part.outputs)
    made = compiled_import(program, imported, arguments, workdir=folder, timeout=timeout)
    interface = Interface(
        tuple(spec_of(n.name, n.meta["val"]) for n in part.inputs),
        tuple(spec_of(n.name, n.meta["val"]) for n in part.outputs),
        (),
        made.target,
    )
    return Neuron(bytes_tensor(made.neff), interface.text(), *next_core())


def _check_program(program: Any, given: Mapping[str, Any]) -> None:
    """Raise NIR_TORCH011 if the model or an option does not support partitioning."""
    if has_state(program) or given["input_output_aliases"]:
        raise NeuronError("NIR_TORCH011", "a model with state cannot be partitioned")
    if not given["inline_weights_to_neff"]:
        raise NeuronError(
            "NIR_TORCH011", "the weights of a partitioned model are part of its NEFFs"
        )


def has_state(program: Any) -> bool:
    """Return whether a call of the model changes its buffers or inputs."""
    return {s.kind.name for s in program.graph_signature.output_specs} != {"USER_OUTPUT"}


def _decide(
    found: Mapping[Any, Failure | None], config: PartitionerConfig, ignored: frozenset[str]
) -> None:
    """Log each operator that runs on the host; raises ValueError if too few are supported."""
    counted = [n for n in found if kind_of(n) not in ignored]
    good = sum(found[n] is None for n in counted)
    for node, why in found.items():
        if why is not None:
            LOGGER.info("%s (%s) runs on the host: %s", kind_of(node), node.name, why.why)
    share = good / len(counted) if counted else 1.0
    LOGGER.info("%d of %d operators are supported (%.2f%%)", good, len(counted), 100 * share)
    if share < config.model_support_percentage_threshold:
        raise ValueError(
            f"{share:.2%} of the operators are supported, "
            f"model_support_percentage_threshold is {config.model_support_percentage_threshold:.2%}"
        )


def parts_of(program: Any, found: Mapping[Any, Failure | None]) -> list[Part]:
    """Return the parts in the order in which they run: core and host take turns, as few as the
    order of the data allows.
    """
    levels: dict[Any, int] = {}
    parts: dict[int, Part] = {}
    for node in program.graph.nodes:
        if node.op != "call_function":
            continue
        before = [levels[i] for i in node.all_input_nodes if i in levels]
        if is_operator(node):
            odd = int(found.get(node) is not None)  # levels of the host are odd
            level = max(before, default=odd)
            level += (level + odd) % 2
        else:
            level = before[0]  # an element of a result stays with it
        levels[node] = level
        parts.setdefault(level, Part(level % 2 == 0)).nodes.append(node)
    for level, part in parts.items():
        own = set(part.nodes)
        for node in part.nodes:
            for value in node.all_input_nodes:
                outside = value not in own and (value in levels or _is_argument(program, value))
                if outside and value not in part.inputs:
                    part.inputs.append(value)
            read = any(levels.get(user) != level for user in node.users)
            if read and len(tensors_of(node)) == 1 and isinstance(node.meta["val"], torch.Tensor):
                part.outputs.append(node)
    return [parts[level] for level in sorted(parts)]


def _is_argument(program: Any, node: Any) -> bool:
    return node.op == "placeholder" and node.name in program.graph_signature.user_inputs


def _check_parts(parts: Sequence[Part], config: PartitionerConfig) -> None:
    """Raise ValueError if there are too many parts, or too small ones."""
    own = [part for part in parts if part.on_core]
    for i, part in enumerate(parts):
        where = "the core" if part.on_core else "the host"
        LOGGER.info("part %d: %d operators on %s", i, part.size, where)
    if not own:
        raise ValueError("no operator can run on the core")
    if config.max_subgraph_count != -1 and len(own) > config.max_subgraph_count:
        raise ValueError(
            f"{len(own)} parts run on the core, max_subgraph_count is {config.max_subgraph_count}"
        )
    small = min(part.size for part in own)
    if config.min_subgraph_size != -1 and small < config.min_subgraph_size:
        raise ValueError(
            f"a part of the core has {small} operators, min_subgraph_size is "
            f"{config.min_subgraph_size}"
        )


class Partitioned(nn.Module):  # type: ignore[misc]
    """A traced model whose compiled and CPU parts are submodules `part0`, `part1` and so on."""

    def __init__(self, parts: Sequence[Any]) -> None:
        super().__init__()
        for i, part in enumerate(parts):
            setattr(self, f"part{i}", part)


class Assembly:
    """Puts parts together; `made` are the compiled ones by their number, `accepts` as in
    `Trace`."""

    def __init__(
        self,
        program: Any,
        examples: Sequence[Any],
        parts: Sequence[Part],
        made: Mapping[int, Neuron],
        accepts: Sequence[Any] | None = None,
    ) -> None:
        self.accepts = examples if accepts is None else accepts
        self.program = program
        self.examples = examples
        self.parts = parts
        self.made = made
        flat = [t for value in examples for _, t in leaves(value, "x")]
        nodes = {n.name: n for n in program.graph.nodes}
        names = program.graph_signature.user_inputs
        self.values = {nodes[name]: t for name, t in zip(names, flat, strict=True)}

    def module(self) -> Any:
        """Return the ScriptModule."""
        modules: list[Any] = []
        texts = self._arguments()
        lines = []
        for i, part in enumerate(self.parts):
            given = ", ".join(texts[n] for n in part.inputs)
            host = self._host(part)
            if part.on_core:
                modules.append(self.made[i])
                lines.append(f"    given{i}: List[Tensor] = [{given}]\n")
                lines.append(f"    r{i} = self.part{i}.forward(given{i})\n")
            else:
                modules.append(host)
                lines.append(f"    r{i} = self.part{i}({given})\n")
            single = not part.on_core and len(part.outputs) == 1
            for k, node in enumerate(part.outputs):
                texts[node] = f"r{i}" if single else f"r{i}[{k}]"
        head = "".join(
            f", x{i}: {type_text(v, f'example input {i}')}" for i, v in enumerate(self.examples)
        )
        reports = " + ".join(
            f"self.part{i}.report()" for i, p in enumerate(self.parts) if p.on_core
        )
        source = (
            f"def forward(self{head}):\n{''.join(lines)}    return {self._result(texts)}\n"
            f"def report(self) -> str:\n    return {reports}\n"
        )
        whole = Partitioned(modules)
        whole.__class__ = type("Partitioned", (Partitioned,), {})
        return script(whole, source)

    def _arguments(self) -> dict[Any, str]:
        both = zip(self.examples, self.accepts, strict=True)
        texts = [t for i, (v, a) in enumerate(both) for t, _ in cast_leaves(v, a, f"x{i}")]
        return dict(zip(self.values, texts, strict=True))

    def _result(self, texts: Mapping[Any, str]) -> str:
        output = next(n for n in self.program.graph.nodes if n.op == "output")
        flat = []
        for value in output.args[0]:
            if isinstance(value, torch.fx.Node) and value not in texts:
                raise NeuronError("NIR_TORCH011", "a result that is a weight cannot be returned")
            flat.append(Leaf(texts[value]) if isinstance(value, torch.fx.Node) else value)
        return result_text(pytree.tree_unflatten(flat, self.program.call_spec.out_spec))

    def _host(self, part: Part) -> Any:
        """Return the part in torch, traced on example values; its results are kept for the
        following parts.
        """
        graph, root = torch.fx.Graph(), nn.Module()
        copies: dict[Any, Any] = {n: graph.placeholder(n.name) for n in part.inputs}
        for node in part.nodes:
            for value in node.all_input_nodes:
                if value not in copies:
                    copies[value] = self._held(graph, root, value)
            copies[node] = graph.node_copy(node, copies.__getitem__)
        results = [copies[n] for n in part.outputs]
        graph.output(results[0] if len(results) == 1 else tuple(results))
        module = torch.fx.GraphModule(root, graph).eval()
        given = tuple(self.values[n] for n in part.inputs)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = module(*given)
            traced = None if part.on_core else torch.jit.trace(module, given, check_trace=False)
        listed = [found] if len(results) == 1 else list(found)
        self.values.update(zip(part.outputs, listed, strict=True))
        return traced

    def _held(self, graph: Any, root: Any, node: Any) -> Any:
        """Return a parameter or buffer in a part."""
        if node.op == "get_attr":
            tensor = getattr(self.program.graph_module, node.target)
        else:
            specs = self.program.graph_signature.input_specs
            target = next(s.target for s in specs if s.arg.name == node.name)
            tensor = self.program.state_dict.get(target)
            tensor = self.program.constants[target] if tensor is None else tensor
        name = f"held_{node.name}"
        root.register_buffer(name, tensor.detach())
        return graph.get_attr(name)
