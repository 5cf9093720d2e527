"""`trace`: a model compiled for a NeuronCore, as a ScriptModule."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from neuronir.dialects.support.errors import NeuronError
from neuronir.torch.arguments import Arguments, parse_arguments
from neuronir.torch.compiling import (
    Compiled,
    bytes_tensor,
    compiled,
    exported,
    spec_of,
)
from neuronir.torch.cores import next_core
from neuronir.torch.holder import Neuron, Traced, scripted
from neuronir.torch.interface import Interface
from neuronir.torch.partitioning import partitioned
from neuronir.torch.structure import Leaf, cast_leaves, leaves, result_text, type_text


def trace(
    func: Any,
    example_inputs: Any,
    *positional: Any,
    input_output_aliases: Mapping[Any, int] | None = None,
    compiler_workdir: str | None = None,
    compiler_args: Arguments = None,
    partitioner_config: Any = None,
    inline_weights_to_neff: bool = True,
    cpu_backend: bool = False,
) -> Any:
    """Compile a module or function for a NeuronCore, for the shapes and types of example inputs.

    Returns a ScriptModule that holds the NEFF: calling it runs the simulated core, torch.jit.save
    writes it, `report()` says how long a run takes. `input_output_aliases` maps tensors (parameters
    or buffers of the module, or example inputs) to the number of the result that is their new
    value: the model holds them, and these results are not returned. `compiler_args` are options of
    `neuronx-cc compile`, `compiler_workdir` a folder that keeps everything. Without
    `inline_weights_to_neff` the weights are stored beside the NEFF (`replace_weights`). Raises a
    NeuronError that says what cannot be compiled, and where in the model it is.
    """
    given = dict(
        input_output_aliases=input_output_aliases,
        compiler_workdir=compiler_workdir,
        compiler_args=compiler_args,
        partitioner_config=partitioner_config,
        inline_weights_to_neff=inline_weights_to_neff,
    )
    if positional:
        given = _inferred(positional, given)
    examples = examples_of(example_inputs)
    arguments = parse_arguments(given["compiler_args"], need_target=cpu_backend)
    if given["partitioner_config"] is not None:
        return partitioned(func, examples, given["partitioner_config"], given)
    aliases = dict(given["input_output_aliases"] or {})
    inline = bool(given["inline_weights_to_neff"])
    return Trace(func, examples, aliases, inline).compiled(arguments, given["compiler_workdir"])


def examples_of(example_inputs: Any) -> tuple[Any, ...]:
    """Return the example arguments as a tuple; each has to be made of tensors (NIR_TORCH009)."""
    if isinstance(example_inputs, torch.Tensor):
        return (example_inputs,)
    if not isinstance(example_inputs, (tuple, list)):
        raise NeuronError(
            "NIR_TORCH009",
            f"example_inputs is of type {type(example_inputs).__name__}: it must be a tensor or a "
            "tuple",
        )
    for i, value in enumerate(example_inputs):
        type_text(value, f"example input {i}")
    return tuple(example_inputs)


def _inferred(positional: Sequence[Any], given: dict[str, Any]) -> dict[str, Any]:
    """Map arguments that were passed by position to keywords, by their types."""
    found = dict(given)
    names = []
    for value in positional:
        if isinstance(value, bool):
            name = "inline_weights_to_neff"
        elif isinstance(value, Mapping):
            name = "input_output_aliases"
        elif isinstance(value, str) and not value.lstrip().startswith("-"):
            name = "compiler_workdir"
        elif isinstance(value, (str, list, tuple)):
            name = "compiler_args"
        elif value is None:
            continue
        else:
            name = "partitioner_config"
        found[name] = value
        names.append(name)
    warnings.warn(
        "trace takes options by keyword only; by position they are deprecated, and taken for "
        + ", ".join(names),
        DeprecationWarning,
        stacklevel=3,
    )
    return found


class Trace:
    """One trace. If an input is float32 in `accepts` and float16 in `examples`, the module accepts
    both types.
    """

    def __init__(
        self,
        func: Any,
        examples: tuple[Any, ...],
        aliases: Mapping[Any, int],
        inline: bool,
        *,
        accepts: Sequence[Any] | None = None,
    ) -> None:
        self.func = func
        self.accepts = examples if accepts is None else tuple(accepts)
        self.examples = examples
        self.inline = inline
        self.program = exported(func, examples)
        self.aliases = self._named(aliases)

    def _named(self, aliases: Mapping[Any, int]) -> dict[str, int]:
        """Return aliases by the names of the program's inputs or in its state dict
        (NIR_TORCH006).
        """
        names: dict[int, str] = {}
        if isinstance(self.func, nn.Module):
            for name, tensor in self.func.state_dict(keep_vars=True).items():
                names[id(tensor)] = name
        flat = [t for value in self.examples for _, t in leaves(value, "x")]
        for name, tensor in zip(self.program.graph_signature.user_inputs, flat, strict=True):
            names[id(tensor)] = name
        found = {}
        for tensor, index in aliases.items():
            if id(tensor) not in names:
                raise NeuronError(
                    "NIR_TORCH006",
                    "input_output_aliases: a tensor is neither a parameter or buffer of the "
                    "module nor an example input",
                )
            found[names[id(tensor)]] = int(index)
        return found

    @property
    def kept(self) -> set[str]:
        """Return parameters and buffers that are inputs of the program."""
        return set(self.aliases) | (set() if self.inline else set(self.program.state_dict))

    def compiled(self, arguments: Any, workdir: str | None, timeout: float | None = None) -> Any:
        """Compile, and assemble the traced model."""
        made = compiled(self.program, arguments, kept=self.kept, workdir=workdir, timeout=timeout)
        return self.module(made)

    def module(self, made: Compiled) -> Any:
        """Return the ScriptModule of a compiled program."""
        imported = made.imported
        head, given = self._arguments()
        states = set(imported.mutated) | set(self.aliases)
        held: list[tuple[str, Any, str]] = []  # name, tensor, place in the module
        texts: dict[str, str] = dict(given)
        for name in [n for n in imported.inputs if n in states] + imported.held:
            kind = "states.s" if name in states else "weights.w"
            place = f"{kind}{len(held)}"
            held.append((name, self._tensor(name), place))
            texts[name] = f"self.{place}"
        order = [*imported.inputs, *imported.held]
        # Held values come last in the interface; the program has its own order.
        free = [n for n in imported.inputs if n not in states]
        places = {name: place for name, _, place in held}
        if order != [*free, *(name for name, _, _ in held)]:
            raise NeuronError(
                "NIR_TORCH006", "input_output_aliases: example inputs that are state must come last"
            )
        body = self._results(made, places)
        interface = Interface(
            tuple(spec_of(n, self._tensor(n)) for n in order),
            tuple(spec_of(n, t) for n, t in zip(imported.results, self._fakes(), strict=True)),
            tuple((name, place) for name, _, place in held),
            made.target,
        )
        flat = ", ".join(texts[name] for name in order)
        source = (
            f"def forward(self{head}):\n"
            f"    given: List[Tensor] = [{flat}]\n"
            "    out = self.neuron.forward(given)\n"
            f"{body}"
            "def report(self) -> str:\n"
            "    return self.neuron.report()\n"
        )
        neuron = Neuron(bytes_tensor(made.neff), interface.text(), *next_core())
        return scripted(Traced(neuron, [(place, t) for _, t, place in held]), source)

    def _arguments(self) -> tuple[str, dict[str, str]]:
        """Return (the signature, the expression of each input)."""
        names = iter(self.program.graph_signature.user_inputs)
        head = ""
        texts: dict[str, str] = {}
        for i, value in enumerate(self.examples):
            parts = cast_leaves(value, self.accepts[i], f"x{i}")
            own = [next(names) for _ in parts]
            if len(own) == 1 and isinstance(value, torch.Tensor) and own[0] in self.aliases:
                continue
            head += f", x{i}: {type_text(value, f'example input {i}')}"
            texts.update(zip(own, (text for text, _ in parts), strict=True))
        return head, texts

    def _tensor(self, name: str) -> Any:
        """Return the tensor of an input: an example, a parameter, a buffer."""
        signature = self.program.graph_signature
        flat = [t for value in self.examples for _, t in leaves(value, "x")]
        examples = dict(zip(signature.user_inputs, flat, strict=True))
        if name in examples:
            return examples[name].detach().clone()
        found = self.program.state_dict.get(name)
        return (self.program.constants[name] if found is None else found).detach().clone()

    def _fakes(self) -> list[Any]:
        """Return the fake tensors of the program's results."""
        output = next(n for n in self.program.graph.nodes if n.op == "output")
        nodes = [n for n in output.args[0] if isinstance(n, torch.fx.Node)]
        return [n.meta["val"] for n in nodes]

    def _results(self, made: Compiled, places: Mapping[str, str]) -> str:
        """Return the statements after the call: held values are replaced, and the other results are
        returned.
        """
        lines = []
        count = len(made.imported.mutated)
        for i, name in enumerate(made.imported.mutated):
            lines.append(f"    self.{places[name]}.copy_(out[{i}])\n")
        flat: list[Any] = []
        for constant in made.imported.constants:
            if constant is None:
                flat.append(Leaf(f"out[{count}]"))
                count += 1
            else:
                flat.append(constant[0])
        for name, index in self.aliases.items():
            if not -len(flat) <= index < len(flat) or not isinstance(flat[index], Leaf):
                raise NeuronError(
                    "NIR_TORCH006", f"input_output_aliases: the model has no result {index}"
                )
            lines.append(f"    self.{places[name]}.copy_({flat[index].text})\n")
        structure = pytree.tree_unflatten(flat, self.program.call_spec.out_spec)
        if self.aliases:
            structure = _without(structure, {i % len(flat) for i in self.aliases.values()})
        lines.append(f"    return {result_text(structure)}\n")
        return "".join(lines)


def _without(structure: Any, gone: set[int]) -> Any:
    """Return a tuple or list of results without those that the model holds (NIR_TORCH006)."""
    if isinstance(structure, Leaf):
        return None
    simple = isinstance(structure, (tuple, list)) and all(isinstance(v, Leaf) for v in structure)
    if not simple:
        raise NeuronError(
            "NIR_TORCH006", "input_output_aliases: the model must return a tuple of tensors"
        )
    return tuple(v for i, v in enumerate(structure) if i not in gone)
