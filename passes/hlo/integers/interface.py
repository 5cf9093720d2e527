"""Pass u64 arguments and results of the entry function as arrays of u32 words."""

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, TensorType, TupleType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from neuronir.passes.hlo.integers.pairs import U32, U64, is_wide
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import shape, tensor
from neuronir.passes.hlo.support.walk import entry, erase_dead

WORD_INPUTS, WORD_OUTPUTS = "hlo.word_inputs", "hlo.word_outputs"
"""Module attributes: the 64-bit types (`uint64`) of arguments and flat results that are arrays of
u32 words in the program, by number.
"""


def pass_words(module: ModuleOp) -> None:
    """Turn the u64 arguments and results of the entry function into arrays of words, u32[..., 2].

    Module attributes name them, so that the runtime converts at the interface.
    """
    main = entry(module)
    if main is None:
        return
    block = main.body.block
    first, last = block.first_op, block.last_op
    assert first is not None and last is not None
    found: dict[str, dict[str, Attribute]] = {WORD_INPUTS: {}, WORD_OUTPUTS: {}}
    for number, argument in enumerate(tuple(block.args)):
        if not is_wide(argument):
            continue
        old, hint = argument.type, argument.name_hint
        new = Rewriter.replace_value_with_new_type(argument, _words_of(argument))
        new.name_hint = hint
        uses = tuple(new.uses)
        cast = Emitter(first).emit("bitcast_convert", [new], old)
        for use in uses:
            use.operation.operands[use.index] = cast
        found[WORD_INPUTS][str(number)] = StringAttr("uint64")
    found[WORD_OUTPUTS] = _results(last)
    main.update_function_type()
    for name, types in found.items():
        if types:
            module.attributes[name] = DictionaryAttr(types)


def _results(last: Operation) -> dict[str, Attribute]:
    """Return words instead of u64 arrays, and the types of the latter by number."""
    (returned,) = last.operands
    leaves = returned.type.types.data if isinstance(returned.type, TupleType) else [returned.type]
    types = [t.element_type for t in leaves if isinstance(t, TensorType)]
    if U64 not in types or len(types) < len(leaves):
        return {}
    e = Emitter(last)
    results = [returned]
    if isinstance(returned.type, TupleType):
        results = [e.tuple_element(returned, i) for i in range(len(leaves))]
    found: dict[str, Attribute] = {}
    for i, value in enumerate(results):
        if is_wide(value):
            results[i] = e.emit("bitcast_convert", [value], _words_of(value))
            found[str(i)] = StringAttr("uint64")
    last.operands[0] = e.tuple(results) if isinstance(returned.type, TupleType) else results[0]
    if isinstance(returned.owner, Operation):
        erase_dead(returned.owner)
    return found


def _words_of(value: SSAValue) -> TensorType[Attribute]:
    return tensor((*shape(value), 2), U32)
